// expects: `__builtin_return_address` is refused
// line: 4
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    out[0] = reinterpret_cast<unsigned long>(__builtin_return_address(0));
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
