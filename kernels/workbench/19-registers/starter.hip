// out = x minus the mean of each column; x: [128, columns].
extern "C" __global__ void subtract_mean(
        const float* x, float* out, int columns) {
    // How many rows of its column a thread keeps. The other threads of the
    // column (threadIdx.y) have nothing to do at 128. Move this number.
    constexpr int kept = 128;
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

    // With fewer rows, sum is a part of the column's. Add up the four parts
    // through LDS.

    float mean = sum / 128.0f;
    if (inside) {
        #pragma unroll
        for (int i = 0; i < kept; i++) {
            out[(first + i) * columns + column] = own[i] - mean;
        }
    }
}
