// Wrong: a fast wavefront loads the next tiles while a slow one still reads these.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int q = 0; q < k; q += 16) {
        int across = q + threadIdx.x;
        int down = q + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && across < k ? a[row * k + across] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = down < k && column < n ? b[down * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
