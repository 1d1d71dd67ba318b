// out = x minus the mean of each column; x: [128, columns].
extern "C" __global__ void subtract_mean(
        const float* x, float* out, int columns) {
    int column = blockIdx.x * 64 + threadIdx.x;
    // Three of four threads have nothing to do, and the fourth keeps 128
    // numbers. Let all four keep 32 rows each.
    if (threadIdx.y > 0 || column >= columns) return;

    float own[128];
    float sum = 0.0f;
    #pragma unroll
    for (int i = 0; i < 128; i++) {
        own[i] = x[i * columns + column];
        sum += own[i];
    }
    float mean = sum / 128.0f;
    #pragma unroll
    for (int i = 0; i < 128; i++) {
        out[i * columns + column] = own[i] - mean;
    }
}
