// The largest |x| of every row. It passes with waves of 32 and fails with
// waves of 64: which numbers mean a wavefront of 32 lanes?
extern "C" __global__ void row_largest(
        const float* x, float* largest, int rows, int width) {
    __shared__ float parts[8];
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;

    float v = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        v = fmaxf(v, fabsf(x[blockIdx.x * width + c]));
    }

    // 1. The maximum of the wavefront comes to lane 0.
    for (int d = 16; d > 0; d /= 2) {
        v = fmaxf(v, __shfl_down(v, d));
    }
    if (lane == 0) {
        parts[wave] = v;
    }
    __syncthreads();

    // 2. The first wavefront reduces the parts.
    if (wave == 0) {
        v = lane < 8 ? parts[lane] : 0.0f;
        for (int d = 4; d > 0; d /= 2) {
            v = fmaxf(v, __shfl_down(v, d));
        }
        if (lane == 0) {
            largest[blockIdx.x] = v;
        }
    }
}
