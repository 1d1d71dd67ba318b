constexpr int WIDTH = 32;

__device__ double dot(const float* a, const float* b) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) {
        sum += (double)a[i] * b[i];
    }
    return sum;
}

// The backward pass of causal attention. One thread computes one row of each
// gradient: dq as a query, dk and dv as a key.
extern "C" __global__ void reference(
        const float* q, const float* k, const float* v, const float* out_gradient,
        const float* lse, const float* delta, double* dq, double* dk, double* dv,
        int heads, int tokens, float scale) {
    int own = blockIdx.x * blockDim.x + threadIdx.x;
    if (own < heads * tokens) {
        for (int i = 0; i < WIDTH; i++) {
            dq[own * WIDTH + i] = dk[own * WIDTH + i] = dv[own * WIDTH + i] = 0;
        }
        int first = own - own % tokens;
        for (int other = first; other < first + tokens; other++) {
            int query = max(own, other), key = min(own, other);
            double score = dot(q + query * WIDTH, k + key * WIDTH) * scale;
            double p = exp(score - lse[query]);
            double dp = dot(out_gradient + query * WIDTH, v + key * WIDTH);
            double ds = p * (dp - delta[query]) * scale;
            for (int i = 0; i < WIDTH; i++) {
                if (own == query) {
                    dq[own * WIDTH + i] += ds * k[key * WIDTH + i];
                }
                if (own == key) {
                    dk[own * WIDTH + i] += ds * q[query * WIDTH + i];
                    dv[own * WIDTH + i] += p * out_gradient[query * WIDTH + i];
                }
            }
        }
    }
}
