// sums[w] = the sum of the warpSize elements of wavefront w.
extern "C" __global__ void wave_sums(const float* x, float* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
    int lane = threadIdx.x % warpSize;
    if (lane == 0 && i < n) {
        sums[i / warpSize] = v;
    }
}
