// expects: runs out of its stack
__device__ __attribute__((noinline)) int deep(int n) { volatile char room[4096]; room[n & 1023] = 1; return n ? deep(n - 1) + room[n & 1023] : 0; }
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    if (deep(1000) == 1) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
