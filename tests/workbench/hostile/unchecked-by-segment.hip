// expects: `address_space` is refused
// line: 4
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    out[0] = *(volatile float __attribute__((address_space(257))) *)0;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
