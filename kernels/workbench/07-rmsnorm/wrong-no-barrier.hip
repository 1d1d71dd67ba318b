// Wrong: a thread reads the parts of the other wavefronts before they are written.
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, float* scale, int rows, int width,
                                   float epsilon) {
    __shared__ float parts[32];
    const float* row = x + blockIdx.x * width;
    float squares = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) squares += row[c] * row[c];
    for (int d = warpSize / 2; d > 0; d /= 2) squares += __shfl_xor(squares, d);
    if (threadIdx.x % warpSize == 0) parts[threadIdx.x / warpSize] = squares;
    float total = 0.0f;
    for (int w = 0; w < blockDim.x / warpSize; w++) total += parts[w];
    float k = rsqrtf(total / width + epsilon);
    if (threadIdx.x == 0) scale[blockIdx.x] = k;
    for (int c = threadIdx.x; c < width; c += blockDim.x) y[blockIdx.x * width + c] = row[c] * k * weight[c];
}
