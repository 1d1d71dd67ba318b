// out[r][c] = x[r][0] + ... + x[r][c], one workgroup a row of at most 256.
extern "C" __global__ void running_sums(
        const int* x, int* out, int rows, int width) {
    __shared__ int totals[32];
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;
    int c = threadIdx.x;
    int v = c < width ? x[blockIdx.x * width + c] : 0;

    // 1. The running sums within the wavefront, with __shfl_up.

    // 2. The last lane of each wavefront puts its total into LDS.

    // 3. Add the totals of all wavefronts before this one.

    if (c < width) {
        out[blockIdx.x * width + c] = v;
    }
}
