// Naive: the first lane adds up the whole wavefront's elements, the others do nothing.
extern "C" __global__ void wave_sums(const float* x, float* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % warpSize != 0 || i >= n) return;
    float sum = 0.0f;
    for (int k = i; k < n && k < i + warpSize; k++) sum += x[k];
    sums[i / warpSize] = sum;
}
