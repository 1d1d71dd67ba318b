// out = x minus the mean of each column; x: [128, columns].
extern "C" __global__ void subtract_mean(
        const float* x, float* out, int columns) {
    constexpr int kept = 32;
    int column = blockIdx.x * 64 + threadIdx.x;
    int first = threadIdx.y * kept;
    bool inside = column < columns && first < 128;

    float own[kept];
    float sum = 0.0f;
    #pragma unroll
    for (int i = 0; i < kept; i++) {
        own[i] = inside ? x[(first + i) * columns + column] : 0.0f;
        sum += own[i];
    }

    __shared__ float parts[4][64];
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    sum = parts[0][threadIdx.x] + parts[1][threadIdx.x]
        + parts[2][threadIdx.x] + parts[3][threadIdx.x];

    float mean = sum / 128.0f;
    if (inside) {
        #pragma unroll
        for (int i = 0; i < kept; i++) {
            out[(first + i) * columns + column] = own[i] - mean;
        }
    }
}
