// expects: passed
# 1 "@SECRET@"
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
