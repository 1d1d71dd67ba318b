__device__ double dot(const float* a, const float* b, int length) {
    double sum = 0;
    for (int i = 0; i < length; i++) {
        sum += (double)a[i] * b[i];
    }
    return sum;
}

// Causal attention. One thread computes one query.
extern "C" __global__ void reference(
        const float* q, const float* k, const float* v, double* out, int heads,
        int sequence, int head_dim, float scale) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < heads * sequence) {
        int first = row - row % sequence;
        const float* query = q + row * head_dim;
        double* own = out + row * head_dim;
        double largest = -INFINITY, sum = 0;
        for (int key = first; key <= row; key++) {
            largest = fmax(largest, dot(query, k + key * head_dim, head_dim) * scale);
        }
        for (int i = 0; i < head_dim; i++) {
            own[i] = 0;
        }
        for (int key = first; key <= row; key++) {
            double score = dot(query, k + key * head_dim, head_dim) * scale;
            double share = exp(score - largest);
            sum += share;
            for (int i = 0; i < head_dim; i++) {
                own[i] += share * v[key * head_dim + i];
            }
        }
        for (int i = 0; i < head_dim; i++) {
            own[i] /= sum;
        }
    }
}
