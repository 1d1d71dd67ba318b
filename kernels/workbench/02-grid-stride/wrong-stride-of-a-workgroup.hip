// Wrong: steps of one workgroup, so that workgroups compute each other's elements again.
extern "C" __global__ void silu(const float* x, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) {
        out[i] = x[i] / (1.0f + expf(-x[i]));
    }
}
