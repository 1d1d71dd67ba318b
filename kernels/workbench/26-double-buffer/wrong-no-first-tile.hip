// Wrong: nobody loads tile 0.
extern "C" __global__ void matmul(
        const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[2][16][16];
    __shared__ float tile_b[2][16][16];
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
        __syncthreads();
        if (t + 1 < tiles) {
            load(t + 1, (t + 1) % 2);
        }
        for (int i = 0; i < 16; i++) {
            sum += tile_a[t % 2][y][i] * tile_b[t % 2][i][x];
        }
    }

    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}
