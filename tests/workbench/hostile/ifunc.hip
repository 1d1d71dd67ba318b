// expects: would choose between versions of
// line: 5
static int one() { return 1; }
extern "C" int (*choose())() { return one; }
extern "C" __attribute__((ifunc("choose"))) int number();
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    if (number() == 2) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
