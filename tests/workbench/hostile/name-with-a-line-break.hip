// expects: is not known to this emulator
__device__ __attribute__((noinline)) float twice(float x) asm("twice\n.incbin \"@SECRET@\"\n");
__device__ float twice(float x) { return 2 * x; }
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + twice(y[i]) / 2;
}
