// The largest |x| of every row, for any number of lanes.
extern "C" __global__ void row_largest(
        const float* x, float* largest, int rows, int width) {
    __shared__ float parts[32];
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;
    int waves = blockDim.x / warpSize;

    float v = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        v = fmaxf(v, fabsf(x[blockIdx.x * width + c]));
    }

    for (int d = warpSize / 2; d > 0; d /= 2) {
        v = fmaxf(v, __shfl_down(v, d));
    }
    if (lane == 0) {
        parts[wave] = v;
    }
    __syncthreads();

    if (wave == 0) {
        v = lane < waves ? parts[lane] : 0.0f;
        for (int d = warpSize / 2; d > 0; d /= 2) {
            v = fmaxf(v, __shfl_down(v, d));
        }
        if (lane == 0) {
            largest[blockIdx.x] = v;
        }
    }
}
