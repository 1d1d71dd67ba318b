// sums[r] = the sum of row r of x, by one workgroup.
__device__ float wave_sum(float v) {
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
    return v;
}

extern "C" __global__ void row_sums(
        const float* x, float* sums, int rows, int width) {
    __shared__ float parts[32];
    const float* row = x + blockIdx.x * width;

    float sum = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        sum += row[c];
    }

    sum = wave_sum(sum);
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;
    if (lane == 0) {
        parts[wave] = sum;
    }
    __syncthreads();

    if (threadIdx.x == 0) {
        int waves = blockDim.x / warpSize;
        float total = 0.0f;
        for (int w = 0; w < waves; w++) {
            total += parts[w];
        }
        sums[blockIdx.x] = total;
    }
}
