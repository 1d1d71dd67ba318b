// Wrong: exp of a large logit is infinity, and infinity / infinity is NaN.
extern "C" __global__ void cross_entropy(const float* logits, const int* targets, float* losses, float* gradient, int rows,
                                         int classes, float share) {
    __shared__ float parts[32];
    const float* row = logits + blockIdx.x * classes;
    int target = targets[blockIdx.x];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) sum += expf(row[c]);
    for (int d = warpSize / 2; d > 0; d /= 2) sum += __shfl_xor(sum, d);
    if (threadIdx.x % warpSize == 0) parts[threadIdx.x / warpSize] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < blockDim.x / warpSize; w++) sum += parts[w];
    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) - row[target];
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        gradient[blockIdx.x * classes + c] = (expf(row[c]) / sum - (c == target ? 1.0f : 0.0f)) * share;
    }
}
