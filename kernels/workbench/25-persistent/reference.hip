// y = x / sqrt(mean(x^2) + epsilon) * weight. One thread computes one row.
extern "C" __global__ void reference(
        const float* x, const float* weight, double* y, int rows, int width,
        float epsilon) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double squares = 0;
        for (int i = 0; i < width; i++) {
            double one = x[row * width + i];
            squares += one * one;
        }
        double scale = 1 / sqrt(squares / width + epsilon);
        for (int i = 0; i < width; i++) {
            y[row * width + i] = x[row * width + i] * scale * weight[i];
        }
    }
}
