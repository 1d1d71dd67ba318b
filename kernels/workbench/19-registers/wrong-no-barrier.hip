// Wrong: the parts are read before the other threads have written theirs.
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
    // All four parts.
    float mean = (parts[0][t] + parts[1][t] + parts[2][t] + parts[3][t]) / 128.0f;
    for (int i = 0; inside && i < 32; i++) out[(first + i) * columns + column] = own[i] - mean;
}
