// The largest magnitude of each row. One thread computes one row.
extern "C" __global__ void reference(
        const float* x, double* largest, int rows, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double most = 0;
        for (int i = 0; i < width; i++) {
            most = fmax(most, fabs((double)x[row * width + i]));
        }
        largest[row] = most;
    }
}
