__device__ double dot(const float* a, const float* b, int length) {
    double sum = 0;
    for (int i = 0; i < length; i++) {
        sum += (double)a[i] * b[i];
    }
    return sum;
}

// Attention of one query a head over all keys. One thread computes one element.
extern "C" __global__ void reference(
        const float* q, const float* keys, const float* values, double* out,
        int heads, int length, int head_dim, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < heads * head_dim) {
        int head = i / head_dim, column = i % head_dim;
        const float* query = q + head * head_dim;
        keys += head * length * head_dim;
        values += head * length * head_dim;
        double largest = -INFINITY, sum = 0, weighted = 0;
        for (int key = 0; key < length; key++) {
            double score = dot(query, keys + key * head_dim, head_dim) * scale;
            largest = fmax(largest, score);
        }
        for (int key = 0; key < length; key++) {
            double score = dot(query, keys + key * head_dim, head_dim) * scale;
            double share = exp(score - largest);
            sum += share;
            weighted += share * values[key * head_dim + column];
        }
        out[i] = weighted / sum;
    }
}
