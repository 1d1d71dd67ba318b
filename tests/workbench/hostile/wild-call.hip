// expects: jumps to where there is no code
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    reinterpret_cast<void (*)()>(4096ul + n)();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
