// sums[w] = the sum of the warpSize elements of wavefront w.
extern "C" __global__ void wave_sums(const float* x, float* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // 1. The thread's number. Past the end: 0, which changes no sum. Don't
    //    return: the others need this lane.
    float v = 0.0f;

    // 2. Exchange and add with __shfl_xor, with distances that halve:
    //    warpSize / 2, warpSize / 4 ... 1.

    // 3. Every lane has the sum now, but one of them is enough to write it.
    int lane = threadIdx.x % warpSize;
    if (lane == 0 && i < n) {
        sums[i / warpSize] = v;
    }
}
