// sums[r] = the sum of row r of x, by one workgroup.

// A function for the device. Here: the sum over the lanes of a wavefront,
// which every lane gets.
__device__ float wave_sum(float v) {
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
    return v;
}

extern "C" __global__ void row_sums(
        const float* x, float* sums, int rows, int width) {
    // LDS, one place for each wavefront. 32 is enough: a workgroup has at
    // most 1024 threads, a wavefront at least 32.
    __shared__ float parts[32];

    // The workgroup's row: `row[c]` is x[r][c].
    const float* row = x + blockIdx.x * width;

    // 1. Add up this thread's elements: c = threadIdx.x, then blockDim.x
    //    further on, and so on.
    float sum = 0.0f;

    // 2. Add up over the wavefront, and let one lane write that into `parts`.
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;

    // 3. A barrier. What does it order?

    // 4. One thread adds up the parts of the wavefronts and writes
    //    sums[blockIdx.x].
}
