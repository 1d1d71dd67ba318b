// Slow: each thread walks over its own piece, so that neighbouring threads read far from each other.
extern "C" __global__ void silu(const float* x, float* out, int n) {
    int threads = gridDim.x * blockDim.x;
    int length = (n + threads - 1) / threads;
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * length;
    for (int i = first; i < first + length && i < n; i++) {
        float value = x[i];
        out[i] = value / (1.0f + expf(-value));
    }
}
