// expects: would run before the kernel
// line: 3
static void go() {}
__attribute__((section(".init_array"), used)) static void (*entry)() = go;
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
