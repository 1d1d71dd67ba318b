// Wrong: thread 0 reads the parts before the other wavefronts have written them.
extern "C" __global__ void row_sums(const float* x, float* sums, int rows, int width) {
    __shared__ float parts[32];
    const float* row = x + blockIdx.x * width;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) sum += row[c];
    for (int d = warpSize / 2; d > 0; d /= 2) sum += __shfl_xor(sum, d);
    if (threadIdx.x % warpSize == 0) parts[threadIdx.x / warpSize] = sum;
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int w = 0; w < blockDim.x / warpSize; w++) total += parts[w];
        sums[blockIdx.x] = total;
    }
}
