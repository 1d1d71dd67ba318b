// Slow: right, with one buffer and two barriers a tile.
extern "C" __global__ void matmul(
        const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[1][16][16];
    __shared__ float tile_b[1][16][16];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = blockIdx.y * 16 + y;
    int column = blockIdx.x * 16 + x;

    auto load = [&](int tile, int buffer) {
        int across = tile * 16 + x;
        int down = tile * 16 + y;
        bool in_a = row < m && across < k;
        bool in_b = down < k && column < n;
        tile_a[buffer][y][x] = in_a ? a[row * k + across] : 0.0f;
        tile_b[buffer][y][x] = in_b ? b[down * n + column] : 0.0f;
    };

    int tiles = (k + 15) / 16;
    float sum = 0.0f;
    for (int t = 0; t < tiles; t++) {
        load(t, 0);
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            sum += tile_a[0][y][i] * tile_b[0][i][x];
        }
        __syncthreads();
    }

    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}
