// out = x / (1 + exp(-x)), for any n with a fixed number of threads.
extern "C" __global__ void silu(const float* x, float* out, int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float value = x[i];
        out[i] = value / (1.0f + expf(-value));
    }
}
