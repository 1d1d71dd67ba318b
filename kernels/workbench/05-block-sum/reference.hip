// The sum of each row. One thread computes one row.
extern "C" __global__ void reference(
        const float* x, double* sums, int rows, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double sum = 0;
        for (int i = 0; i < width; i++) {
            sum += x[row * width + i];
        }
        sums[row] = sum;
    }
}
