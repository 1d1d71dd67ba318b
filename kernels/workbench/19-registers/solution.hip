// out = x minus the mean of each column; x: [128, columns].
extern "C" __global__ void subtract_mean(
        const float* x, float* out, int columns) {
    __shared__ float parts[4][64];
    int column = blockIdx.x * 64 + threadIdx.x;
    int first = threadIdx.y * 32;
    bool inside = column < columns;

    float own[32];
    float sum = 0.0f;
    #pragma unroll
    for (int i = 0; i < 32; i++) {
        own[i] = inside ? x[(first + i) * columns + column] : 0.0f;
        sum += own[i];
    }

    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    sum = parts[0][threadIdx.x] + parts[1][threadIdx.x]
        + parts[2][threadIdx.x] + parts[3][threadIdx.x];
    float mean = sum / 128.0f;

    if (inside) {
        #pragma unroll
        for (int i = 0; i < 32; i++) {
            out[(first + i) * columns + column] = own[i] - mean;
        }
    }
}
