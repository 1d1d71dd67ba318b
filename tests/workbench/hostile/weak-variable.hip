// expects: `environ`, which does not exist on a GPU
// line: 3
extern "C" __attribute__((weak)) char **environ;
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    if (environ) out[0] = **environ;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
