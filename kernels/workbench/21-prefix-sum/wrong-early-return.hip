// Wrong: threads without an element leave, and the others wait for them.
extern "C" __global__ void running_sums(const int* x, int* out, int rows, int width) {
    __shared__ int totals[32];
    int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize, c = threadIdx.x;
    if (c >= width) return;
    int v = c < width ? x[blockIdx.x * width + c] : 0;
    for (int d = 1; d < warpSize; d *= 2) {
        int before = __shfl_up(v, d);
        v += lane >= d ? before : 0;
    }
    if (lane == warpSize - 1) totals[wave] = v;
    __syncthreads();
    for (int w = 0; w < wave; w++) v += totals[w];
    if (c < width) out[blockIdx.x * width + c] = v;
}
