// Wrong: masked keys take part in the maximum and in the sum.
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
    for (int w = 0; w < blockDim.x / warpSize; w++) {
        v = fmaxf(v, parts[w]);
    }
    return v;
}

// The sum over the workgroup, which every thread gets.
__device__ float block_sum(float v) {
    __shared__ float parts[32];
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
    if (threadIdx.x % warpSize == 0) {
        parts[threadIdx.x / warpSize] = v;
    }
    __syncthreads();
    v = 0.0f;
    for (int w = 0; w < blockDim.x / warpSize; w++) {
        v += parts[w];
    }
    return v;
}

extern "C" __global__ void masked_softmax(
        const float* scores, const int* visible, float* p,
        int rows, int keys) {
    const float* row = scores + blockIdx.x * keys;
    int seen = visible[blockIdx.x];

    float m = -INFINITY;
    for (int c = threadIdx.x; c < keys; c += blockDim.x) {
        float score = row[c];
        m = fmaxf(m, score);
    }
    m = block_max(m);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < keys; c += blockDim.x) {
        float score = row[c];
        sum += expf(score - m);
    }
    sum = block_sum(sum);

    for (int c = threadIdx.x; c < keys; c += blockDim.x) {
        p[blockIdx.x * keys + c] = c < seen ? expf(row[c] - m) / sum : 0.0f;
    }
}
