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

    // This thread's elements: c = threadIdx.x, then blockDim.x further on.
    float sum = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        sum += row[c];
    }

    // 1. Add up over the wavefront, and let one of its lanes write that into
    //    `parts`.
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;

    // 2. Below, thread 0 reads what other wavefronts wrote. What has to come
    //    before that?

    if (threadIdx.x == 0) {
        int waves = blockDim.x / warpSize;
        float total = 0.0f;
        for (int w = 0; w < waves; w++) {
            // 3. Add up the parts of all wavefronts.
        }
        sums[blockIdx.x] = total;
    }
}
