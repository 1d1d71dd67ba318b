// Slow: few registers, but x is read twice.
extern "C" __global__ void subtract_mean(const float* x, float* out, int columns) {
    __shared__ float parts[4][64];
    int column = min((int)(blockIdx.x * 64 + threadIdx.x), columns - 1), first = threadIdx.y * 32;
    float sum = 0.0f;
    for (int i = first; i < first + 32; i++) sum += x[i * columns + column];
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    sum = parts[0][threadIdx.x] + parts[1][threadIdx.x] + parts[2][threadIdx.x] + parts[3][threadIdx.x];
    if (blockIdx.x * 64 + threadIdx.x >= columns) return;
    for (int i = first; i < first + 32; i++) out[i * columns + column] = x[i * columns + column] - sum / 128.0f;
}
