// Wrong: with 64 lanes, the second half of a wavefront takes numbers across the middle.
extern "C" __global__ void running_sums(const int* x, int* out, int rows, int width) {
    __shared__ int totals[32];
    int lane = threadIdx.x % 32, wave = threadIdx.x / 32, c = threadIdx.x;
    int v = c < width ? x[blockIdx.x * width + c] : 0;
    for (int d = 1; d < 32; d *= 2) {
        int before = __shfl_up(v, d);
        v += lane >= 0 ? before : 0;
    }
    if (lane == 32 - 1) totals[wave] = v;
    __syncthreads();
    for (int w = 0; w < wave; w++) v += totals[w];
    if (c < width) out[blockIdx.x * width + c] = v;
}
