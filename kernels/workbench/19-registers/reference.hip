// The mean of each column is subtracted. One thread computes one column of 128
// rows.
extern "C" __global__ void reference(const float* x, double* out, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns) {
        double sum = 0;
        for (int row = 0; row < 128; row++) {
            sum += x[row * columns + column];
        }
        for (int row = 0; row < 128; row++) {
            out[row * columns + column] = x[row * columns + column] - sum / 128;
        }
    }
}
