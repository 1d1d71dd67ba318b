// Wrong: each thread handles one element, and no thread handles the rest of the array.
extern "C" __global__ void silu(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] / (1.0f + expf(-x[i]));
}
