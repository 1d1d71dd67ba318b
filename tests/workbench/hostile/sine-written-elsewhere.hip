// expects: memory that belongs to no array
extern "C" void sincosf(float, float *, float *);
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    sincosf(a, (float *)4096, (float *)8192);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
