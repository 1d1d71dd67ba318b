// scale[r] = 1 / sqrt(mean(x[r] * x[r]) + epsilon)
// y[r][c] = x[r][c] * scale[r] * weight[c]: one workgroup a row.
__device__ float wave_sum(float v) {
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
    return v;
}

// The sum over the workgroup, which every thread gets.
__device__ float block_sum(float v) {
    __shared__ float parts[32];
    v = wave_sum(v);
    if (threadIdx.x % warpSize == 0) {
        parts[threadIdx.x / warpSize] = v;
    }
    __syncthreads();
    float total = 0.0f;
    int waves = blockDim.x / warpSize;
    for (int w = 0; w < waves; w++) {
        total += parts[w];
    }
    return total;
}

extern "C" __global__ void rmsnorm(
        const float* x, const float* weight, float* y, float* scale, int rows,
        int width, float epsilon) {
    const float* row = x + blockIdx.x * width;

    // 1. Add up the squares of this thread's elements: c = threadIdx.x, then
    //    blockDim.x further on.
    float squares = 0.0f;

    // The scale of the row, from the sum over all threads.
    float k = rsqrtf(block_sum(squares) / width + epsilon);
    if (threadIdx.x == 0) {
        scale[blockIdx.x] = k;
    }

    // 2. Write this thread's elements of y.
}
