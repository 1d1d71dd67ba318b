// Slow: coalesced, but four loads of 4 bytes where one of 16 would do.
extern "C" __global__ void scale_add(const float* x, const float* y, float* out, int n, float a) {
    int start = blockIdx.x * 4 * blockDim.x + threadIdx.x;
    #pragma unroll 1
    for (int i = start; i < n && i < start + 4 * blockDim.x; i += blockDim.x) {
        out[i] = a * x[i] + y[i];
    }
}
