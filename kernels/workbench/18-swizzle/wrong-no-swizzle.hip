// Slow: a whole column of the tile lies in one bank.
extern "C" __global__ void transpose(const float* x, float* out, int rows, int columns) {
    extern __shared__ float tile[];
    for (int k = 0; k < 32; k += 8) {
        int r = threadIdx.y + k, c = threadIdx.x;
        int row = blockIdx.y * 32 + r, column = blockIdx.x * 32 + c;
        if (row < rows && column < columns) {
            tile[r * 32 + c] = x[row * columns + column];
        }
    }
    __syncthreads();
    for (int k = 0; k < 32; k += 8) {
        int r = threadIdx.x, c = threadIdx.y + k;
        int row = blockIdx.y * 32 + r, column = blockIdx.x * 32 + c;
        if (row < rows && column < columns) {
            out[column * rows + row] = tile[r * 32 + c];
        }
    }
}
