// Slow: four loads of 4 bytes where one of 16 would do.
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

extern "C" __global__ void quantise(const float* x, int* packed, float* scales, int rows, int width) {
    const float* row = x + blockIdx.x * width;
    float m = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) m = fmaxf(m, fabsf(row[c]));
    m = block_max(m);
    if (threadIdx.x == 0) scales[blockIdx.x] = m / 127.0f;
    float inverse = m > 0.0f ? 127.0f / m : 0.0f;
    for (int w = threadIdx.x; w < width / 4; w += blockDim.x) {
        int word = 0;
        #pragma unroll 1
        for (int j = 0; j < 4; j++) {
            word |= (int(rintf(row[4 * w + j] * inverse)) & 255) << (8 * j);
        }
        packed[blockIdx.x * (width / 4) + w] = word;
    }
}
