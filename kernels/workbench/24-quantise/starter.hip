// packed = x / scale in 8 bits, scale = the largest |x| / 127: a workgroup a row.
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

extern "C" __global__ void quantise(
        const float* x, int* packed, float* scales, int rows, int width) {
    int count = width / 4;
    const float4* groups = reinterpret_cast<const float4*>(x) + blockIdx.x * count;
    int* words = packed + blockIdx.x * count;

    float m = 0.0f;
    for (int w = threadIdx.x; w < count; w += blockDim.x) {
        float4 f = groups[w];
        m = fmaxf(m, fmaxf(fmaxf(fabsf(f.x), fabsf(f.y)),
                           fmaxf(fabsf(f.z), fabsf(f.w))));
    }
    m = block_max(m);
    if (threadIdx.x == 0) {
        scales[blockIdx.x] = m / 127.0f;
    }

    // 1. How many steps of the scale is a number of 1? What if m is 0?
    float inverse = 1.0f;
    for (int w = threadIdx.x; w < count; w += blockDim.x) {
        float4 f = groups[w];
        // 2. Each number in steps, rounded to the nearest.
        int a = int(f.x);
        int b = int(f.y);
        int c = int(f.z);
        int d = int(f.w);
        words[w] = (a & 255) | (b & 255) << 8 | (c & 255) << 16 | (d & 255) << 24;
    }
}
