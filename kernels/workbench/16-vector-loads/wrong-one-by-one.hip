// Slow: neighbouring threads read 16 bytes apart, four times.
extern "C" __global__ void scale_add(const float* x, const float* y, float* out, int n, float a) {
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    #pragma unroll 1
    for (int j = first; j < n && j < first + 4; j++) {
        out[j] = a * x[j] + y[j];
    }
}
