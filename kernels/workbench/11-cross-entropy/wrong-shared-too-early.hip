// Wrong: both reductions share one array. A fast wavefront writes its sum while a slow one still reads the maxima.
__device__ float block_reduce(float v, bool largest) {
    __shared__ float parts[32];
    for (int d = warpSize / 2; d > 0; d /= 2) {
        float other = __shfl_xor(v, d);
        v = largest ? fmaxf(v, other) : v + other;
    }
    if (threadIdx.x % warpSize == 0) {
        parts[threadIdx.x / warpSize] = v;
    }
    __syncthreads();
    v = parts[0];
    for (int w = 1; w < blockDim.x / warpSize; w++) v = largest ? fmaxf(v, parts[w]) : v + parts[w];
    return v;
}

extern "C" __global__ void cross_entropy(const float* logits, const int* targets, float* losses, float* gradient, int rows,
                                         int classes, float share) {
    const float* row = logits + blockIdx.x * classes;
    int target = targets[blockIdx.x];
    float m = -INFINITY;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) m = fmaxf(m, row[c]);
    m = block_reduce(m, true);
    float sum = 0.0f;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) sum += expf(row[c] - m);
    sum = block_reduce(sum, false);
    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + m - row[target];
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        gradient[blockIdx.x * classes + c] = (expf(row[c] - m) / sum - (c == target ? 1.0f : 0.0f)) * share;
    }
}
