// Wrong: one element for each thread, and the rest of the array for nobody.
extern "C" __global__ void silu(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] / (1.0f + expf(-x[i]));
}
