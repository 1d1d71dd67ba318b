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

// 1. The sum over the workgroup, in the same way. What if it shared `parts`
//    with block_max?

extern "C" __global__ void cross_entropy(
        const float* logits, const int* targets, float* losses,
        float* gradient, int rows, int classes, float share) {
    const float* row = logits + blockIdx.x * classes;
    int target = targets[blockIdx.x];

    // 2. The maximum of the row. A thread without an element starts with the
    //    smallest of all numbers.
    float m = -INFINITY;

    // 3. The sum of exp(logit - m).

    // 4. One thread writes losses[blockIdx.x]: log of the sum, plus m, minus
    //    the target's logit.

    // 5. All threads write their elements of the gradient.
}
