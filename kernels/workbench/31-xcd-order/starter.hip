// c = a b by tiles of 16 x 16, each die with neighbouring tiles.

// The tile that workgroup b takes. The GPU gives workgroup b to die b % xcds.
__device__ int tile_of(int b, int tiles, int xcds) {
    int xcd = b % xcds;      // the die of this workgroup
    int turn = b / xcds;     // how many workgroups that die had before
    // This is tile b: neighbouring tiles are on different dies. Give each die
    // tiles that follow each other. If tiles does not divide by xcds, the
    // first dies take one tile more.
    return turn * xcds + xcd;
}

extern "C" __global__ void matmul(
        const float* a, const float* b, float* c, int* die,
        int m, int n, int k, int xcds) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    int across = (n + 15) / 16;             // tiles in a row of tiles
    int tiles = across * ((m + 15) / 16);
    int tile = tile_of(blockIdx.x, tiles, xcds);
    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = tile / across * 16 + y;
    int column = tile % across * 16 + x;
    if (x == 0 && y == 0) {
        die[tile] = blockIdx.x % xcds;      // for the check
    }

    float sum = 0.0f;
    for (int q = 0; q < k; q += 16) {
        bool in_a = row < m && q + x < k;
        bool in_b = q + y < k && column < n;
        tile_a[y][x] = in_a ? a[row * k + q + x] : 0.0f;
        tile_b[y][x] = in_b ? b[(q + y) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            sum += tile_a[y][i] * tile_b[i][x];
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}
