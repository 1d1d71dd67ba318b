// expects: `__builtin_ia32_fxsave` is refused
// line: 4
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    __builtin_ia32_fxsave(out);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
