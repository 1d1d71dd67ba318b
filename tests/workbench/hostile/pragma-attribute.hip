// expects: `_Pragma` is refused
// line: 3
_Pragma("clang attribute push(__attribute__((no_sanitize(\"kernel-address\"))), apply_to = function)")
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
