// Gradients of queries, keys and values for a tile of up to 32 tokens.
extern "C" __global__ void attention_backward(
        const float* q, const float* k, const float* v,
        const float* out_gradient, const float* lse, const float* delta,
        float* dq, float* dk, float* dv, int heads, int tokens, float scale) {
    __shared__ float p[32][33];
    int at = blockIdx.x * tokens * 32;

    for (int e = threadIdx.x; e < tokens * tokens; e += blockDim.x) {
        int i = e / tokens;
        int j = e % tokens;
        float score = 0.0f;
        for (int f = 0; f < 32; f++) {
            score += q[at + i * 32 + f] * k[at + j * 32 + f];
        }
        float of_row = lse[blockIdx.x * tokens + i];
        p[i][j] = j <= i ? expf(score * scale - of_row) : 0.0f;
        // 1. dS of this element.
    }
    __syncthreads();

    for (int e = threadIdx.x; e < tokens * 32; e += blockDim.x) {
        int t = e / 32;
        int f = e % 32;
        float of_v = 0.0f;
        for (int s = 0; s < tokens; s++) {
            of_v += p[s][t] * out_gradient[at + s * 32 + f];
        }
        // 2. dq and dk.
        dv[at + e] = of_v;
    }
}
