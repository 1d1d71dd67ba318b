// Wrong: if two threads without elements meet, both maxima are -infinity, and their difference is NaN.
extern "C" __global__ void cross_entropy(const float* logits, const int* targets, float* losses, float* gradient, int rows,
                                         int classes, float share) {
    __shared__ float maxima[32], sums[32];
    const float* row = logits + blockIdx.x * classes;
    int target = targets[blockIdx.x];
    // Maximum and sum in one loop: when the maximum grows, the sum so far shrinks.
    float m = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        float larger = fmaxf(m, row[c]);
        sum = sum * expf(m - larger) + expf(row[c] - larger);
        m = larger;
    }
    for (int d = warpSize / 2; d > 0; d /= 2) {
        float other = __shfl_xor(m, d);
        float larger = fmaxf(m, other);
        sum = sum * expf(m - larger) + __shfl_xor(sum, d) * expf(other - larger);
        m = larger;
    }
    if (threadIdx.x % warpSize == 0) {
        maxima[threadIdx.x / warpSize] = m;
        sums[threadIdx.x / warpSize] = sum;
    }
    __syncthreads();
    m = maxima[0];
    for (int w = 1; w < blockDim.x / warpSize; w++) m = fmaxf(m, maxima[w]);
    sum = 0.0f;
    for (int w = 0; w < blockDim.x / warpSize; w++) sum += sums[w] * expf(maxima[w] - m);
    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + m - row[target];
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        gradient[blockIdx.x * classes + c] = (expf(row[c] - m) / sum - (c == target ? 1.0f : 0.0f)) * share;
    }
}
