// Wrong: tiles at the edge load from outside the matrices.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int q = 0; q < k; q += 16) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * k + q + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(q + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
