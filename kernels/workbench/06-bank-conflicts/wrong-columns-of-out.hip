// Slow: the tile is read along its rows, so that out is written down its columns.
extern "C" __global__ void transpose(const float* x, float* out, int rows, int columns) {
    __shared__ float tile[32][33];
    for (int k = 0; k < 32; k += 8) {
        int r = blockIdx.y * 32 + threadIdx.y + k;
        int c = blockIdx.x * 32 + threadIdx.x;
        if (r < rows && c < columns) tile[threadIdx.y + k][threadIdx.x] = x[r * columns + c];
    }
    __syncthreads();
    for (int k = 0; k < 32; k += 8) {
        int r = blockIdx.y * 32 + threadIdx.y + k;
        int c = blockIdx.x * 32 + threadIdx.x;
        if (r < rows && c < columns) {
            out[c * rows + r] = tile[threadIdx.y + k][threadIdx.x];
        }
    }
}
