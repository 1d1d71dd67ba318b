// c = a b, with a [m, k], b [k, n], c [m, n], by tiles of 16 x 16 in LDS.
extern "C" __global__ void matmul(
        const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];

    // This thread's element of c. It may lie outside; the thread still helps
    // to load the tiles.
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;

    for (int q = 0; q < k; q += 16) {
        // 1. Load one number of each tile: columns q to q + 15 of a's rows,
        //    rows q to q + 15 of b's columns. 0 if outside.

        // 2. When may the others' numbers be read?

        // 3. Add up the products of row threadIdx.y of tile_a and column
        //    threadIdx.x of tile_b.

        // 4. When may the tiles be overwritten?
    }

    // 5. Write the element, if there is one.
}
