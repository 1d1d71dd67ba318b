// expects: does not compile
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    void *const places[] = {&&here, &&there};
    goto *places[n & 1];
here:
there:
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
