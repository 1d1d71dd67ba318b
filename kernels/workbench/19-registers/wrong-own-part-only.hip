// Wrong: the mean of a quarter of the column.
extern "C" __global__ void subtract_mean(const float* x, float* out, int columns) {
    __shared__ float parts[4][64];
    int column = blockIdx.x * 64 + threadIdx.x, first = threadIdx.y * 32, t = threadIdx.x;
    bool inside = column < columns;
    float own[32], sum = 0.0f;
    #pragma unroll
    for (int i = 0; i < 32; i++) {
        own[i] = inside ? x[(first + i) * columns + column] : 0.0f;
        sum += own[i];
    }
    parts[threadIdx.y][t] = sum;
    __syncthreads();
    float mean = parts[threadIdx.y][t] / 32.0f;
    for (int i = 0; inside && i < 32; i++) out[(first + i) * columns + column] = own[i] - mean;
}
