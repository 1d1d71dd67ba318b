// expects: `mmap`, which does not exist on a GPU
// line: 3
extern "C" __attribute__((weak)) void *mmap(void *, unsigned long, int, int, int, long);
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    mmap(nullptr, 3ul << 30, 3, 0x8022, -1, 0);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
