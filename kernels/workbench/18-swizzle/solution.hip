// out[c][r] = x[r][c] through a swizzled tile of 32 x 32 floats.

// Where element (r, c) of the tile lies.
__device__ int place(int r, int c) {
    return r * 32 + (c ^ r);
}

extern "C" __global__ void transpose(
        const float* x, float* out, int rows, int columns) {
    extern __shared__ float tile[];

    for (int k = 0; k < 32; k += 8) {
        int r = threadIdx.y + k;
        int c = threadIdx.x;
        int row = blockIdx.y * 32 + r;
        int column = blockIdx.x * 32 + c;
        if (row < rows && column < columns) {
            tile[place(r, c)] = x[row * columns + column];
        }
    }
    __syncthreads();

    // Neighbouring threads take neighbouring numbers of out: a column of the tile.
    for (int k = 0; k < 32; k += 8) {
        int r = threadIdx.x;
        int c = threadIdx.y + k;
        int row = blockIdx.y * 32 + r;
        int column = blockIdx.x * 32 + c;
        if (row < rows && column < columns) {
            out[column * rows + row] = tile[place(r, c)];
        }
    }
}
