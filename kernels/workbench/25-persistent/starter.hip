// RMSNorm of rows of at most 256, by a fixed number of workgroups.

// The sum over the workgroup, which every thread gets.
__device__ float block_sum(float v) {
    __shared__ float parts[32];
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
    if (threadIdx.x % warpSize == 0) {
        parts[threadIdx.x / warpSize] = v;
    }
    __syncthreads();
    v = 0.0f;
    for (int i = 0; i < blockDim.x / warpSize; i++) {
        v += parts[i];
    }
    return v;
}

extern "C" __global__ void rmsnorm_persistent(
        const float* x, const float* weight, float* y,
        int rows, int width, float epsilon) {
    // Each workgroup takes one row, and loads the weights for it. Let it take
    // one row after the other, and load the weights once. Is block_sum ready
    // for that?
    int r = blockIdx.x;
    if (r < rows) {
        float v = threadIdx.x < width ? x[r * width + threadIdx.x] : 0.0f;
        float k = rsqrtf(block_sum(v * v) / width + epsilon);
        if (threadIdx.x < width) {
            y[r * width + threadIdx.x] = v * k * weight[threadIdx.x];
        }
    }
}
