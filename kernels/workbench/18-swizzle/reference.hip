// out[c][r] = x[r][c]. One thread computes one element.
extern "C" __global__ void reference(
        const float* x, double* out, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) {
        int column = i / rows, row = i % rows;
        out[i] = x[row * columns + column];
    }
}
