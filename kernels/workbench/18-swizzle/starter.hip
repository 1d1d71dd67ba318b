// out[c][r] = x[r][c] through a tile of 32 x 32 floats: right, but with bank
// conflicts.
extern "C" __global__ void transpose(
        const float* x, float* out, int rows, int columns) {
    extern __shared__ float tile[];

    for (int k = 0; k < 32; k += 8) {
        int r = threadIdx.y + k;
        int c = threadIdx.x;
        int row = blockIdx.y * 32 + r;
        int column = blockIdx.x * 32 + c;
        if (row < rows && column < columns) {
            // Where does element (r, c) go, so that a column meets all banks?
            tile[r * 32 + c] = x[row * columns + column];
        }
    }
    __syncthreads();

    for (int k = 0; k < 32; k += 8) {
        int r = threadIdx.x;
        int c = threadIdx.y + k;
        int row = blockIdx.y * 32 + r;
        int column = blockIdx.x * 32 + c;
        if (row < rows && column < columns) {
            out[column * rows + row] = tile[r * 32 + c];
        }
    }
}
