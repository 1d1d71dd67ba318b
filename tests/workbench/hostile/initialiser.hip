// expects: would run before the kernel
static float first() { return sqrtf(threadIdx.x + 2.0f); }
static float value = first();
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    out[0] = value;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
