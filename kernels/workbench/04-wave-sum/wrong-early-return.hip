// Wrong: lanes past the end have left when the others ask for their values.
extern "C" __global__ void wave_sums(const float* x, float* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_xor(v, d);
    if (threadIdx.x % warpSize == 0) sums[i / warpSize] = v;
}
