// Wrong: only the threads that still add reach the barrier.
extern "C" __global__ void row_sums(const float* x, float* sums, int rows, int width) {
    __shared__ float parts[256];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) sum += x[blockIdx.x * width + c];
    parts[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            // All threads' parts must be written first.
            __syncthreads();
            parts[threadIdx.x] += parts[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}
