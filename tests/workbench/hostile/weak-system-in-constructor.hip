// expects: `system`, which does not exist on a GPU
// line: 3
extern "C" __attribute__((weak)) int system(const char *);
__attribute__((constructor)) static void go() { system("id > @OUT@"); }
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
