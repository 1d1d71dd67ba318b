// Loss and gradient of softmax, one workgroup a row.

// The largest v of the workgroup, which every thread gets.
__device__ float block_max(float v) {
    __shared__ float parts[32];
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v = fmaxf(v, __shfl_xor(v, d));
    }
    if (threadIdx.x % warpSize == 0) {
        parts[threadIdx.x / warpSize] = v;
    }
    __syncthreads();
    int waves = blockDim.x / warpSize;
    for (int w = 0; w < waves; w++) {
        v = fmaxf(v, parts[w]);
    }
    return v;
}

// The sum over the workgroup, which every thread gets. It has its own LDS,
// because other threads may still read block_max's.
__device__ float block_sum(float v) {
    __shared__ float parts[32];
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
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

extern "C" __global__ void cross_entropy(
        const float* logits, const int* targets, float* losses,
        float* gradient, int rows, int classes, float share) {
    const float* row = logits + blockIdx.x * classes;
    int target = targets[blockIdx.x];
    float target_logit = row[target];

    float m = -INFINITY;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        m = fmaxf(m, row[c]);
    }
    m = block_max(m);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        sum += expf(row[c] - m);
    }
    sum = block_sum(sum);

    float inverse = 1.0f / sum;
    if (threadIdx.x == 0) {
        losses[blockIdx.x] = logf(sum) + m - target_logit;
    }
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        float p = expf(row[c] - m) * inverse;
        float one = c == target ? 1.0f : 0.0f;
        gradient[blockIdx.x * classes + c] = (p - one) * share;
    }
}
