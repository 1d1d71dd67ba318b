// expects: assembly is refused
// line: 4
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    asm volatile(".incbin \"@SECRET@\"");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
