// out = silu(x). One thread computes one element.
extern "C" __global__ void reference(const float* x, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] / (1 + exp(-(double)x[i]));
    }
}
