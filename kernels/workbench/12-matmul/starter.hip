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
        int across = q + threadIdx.x;
        int down = q + threadIdx.y;
        bool in_a = row < m && across < k;
        bool in_b = down < k && column < n;
        tile_a[threadIdx.y][threadIdx.x] = in_a ? a[row * k + across] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = in_b ? b[down * n + column] : 0.0f;
        // 1. When may the others' numbers be read?

        // 2. Add up the products of row threadIdx.y of tile_a and column
        //    threadIdx.x of tile_b.

        // 3. When may the tiles be overwritten?
    }

    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}
