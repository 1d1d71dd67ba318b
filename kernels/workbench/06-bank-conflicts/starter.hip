// out[c][r] = x[r][c], by tiles of 32 x 32.
extern "C" __global__ void transpose(
        const float* x, float* out, int rows, int columns) {
    __shared__ float tile[32][32];

    // The workgroup is 32 threads wide (x) and 8 high (y), so each thread has
    // four elements of the tile, 8 rows apart.
    for (int k = 0; k < 32; k += 8) {
        int r = blockIdx.y * 32 + threadIdx.y + k;
        int c = blockIdx.x * 32 + threadIdx.x;
        if (r < rows && c < columns) {
            tile[threadIdx.y + k][threadIdx.x] = x[r * columns + c];
        }
    }
    __syncthreads();

    for (int k = 0; k < 32; k += 8) {
        // 1. Which element of out should this thread write, so that
        //    neighbouring threads (threadIdx.x, threadIdx.x + 1) write
        //    neighbouring numbers? out has `rows` columns: element (c, r) is
        //    out[c * rows + r].

        // 2. Which place of the tile holds it? Write it, if it is inside the
        //    matrix.

        // 3. Look at the access picture of the tile: which banks do the
        //    threads of a wavefront read?
    }
}
