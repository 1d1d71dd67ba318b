// Wrong: with 64 lanes there are four parts, and eight are read.
extern "C" __global__ void row_largest(const float* x, float* largest, int rows, int width) {
    __shared__ float parts[8];
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;
    float v = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        v = fmaxf(v, fabsf(x[blockIdx.x * width + c]));
    }
    for (int d = warpSize / 2; d > 0; d /= 2) v = fmaxf(v, __shfl_down(v, d));
    // One part a wavefront.
    if (lane == 0) parts[wave] = v;
    __syncthreads();
    if (wave == 0) {
        v = lane < 8 ? parts[lane] : 0.0f;
        for (int d = warpSize / 2; d > 0; d /= 2) v = fmaxf(v, __shfl_down(v, d));
        // Lane 0 has the maximum of all.
        if (lane == 0) largest[blockIdx.x] = v;
    }
}
