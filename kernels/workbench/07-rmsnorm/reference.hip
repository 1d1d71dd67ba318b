// y = x * scale * weight with scale = 1 / sqrt(mean(x^2) + epsilon). One thread
// computes one row.
extern "C" __global__ void reference(
        const float* x, const float* weight, double* y, double* scale, int rows,
        int width, float epsilon) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double squares = 0;
        for (int i = 0; i < width; i++) {
            double one = x[row * width + i];
            squares += one * one;
        }
        scale[row] = 1 / sqrt(squares / width + epsilon);
        for (int i = 0; i < width; i++) {
            y[row * width + i] = x[row * width + i] * scale[row] * weight[i];
        }
    }
}
