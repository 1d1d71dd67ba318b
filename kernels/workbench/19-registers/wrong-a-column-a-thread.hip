// Slow: 128 numbers in registers leave room for few wavefronts.
extern "C" __global__ void subtract_mean(const float* x, float* out, int columns) {
    int column = blockIdx.x * 64 + threadIdx.x;
    if (threadIdx.y > 0 || column >= columns) return;
    float own[128], sum = 0.0f;
    #pragma unroll
    for (int i = 0; i < 128; i++) {
        own[i] = x[i * columns + column];
        sum += own[i];
    }
    #pragma unroll
    for (int i = 0; i < 128; i++) out[i * columns + column] = own[i] - sum / 128.0f;
}
