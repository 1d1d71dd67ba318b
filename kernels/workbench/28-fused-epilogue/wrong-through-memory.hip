// Slow: right, but the gate goes to memory and comes back.
extern "C" __global__ void swiglu_product(
        const float* x, const float* w, float* out, int rows, int width, int k) {
    __shared__ float tile_x[16][16];
    __shared__ float tile_gate[16][16];
    __shared__ float tile_up[16][16];
    int i_x = threadIdx.x;
    int i_y = threadIdx.y;
    int row = blockIdx.y * 16 + i_y;
    int column = blockIdx.x * 16 + i_x;
    float gate = 0.0f;
    float up = 0.0f;

    for (int q = 0; q < k; q += 16) {
        int across = q + i_x;
        int down = q + i_y;
        bool in_x = row < rows && across < k;
        bool in_w = down < k && column < width;
        const float* pair = w + down * 2 * width + column;
        tile_x[i_y][i_x] = in_x ? x[row * k + across] : 0.0f;
        tile_gate[i_y][i_x] = in_w ? pair[0] : 0.0f;
        tile_up[i_y][i_x] = in_w ? pair[width] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            gate += tile_x[i_y][i] * tile_gate[i][i_x];
            up += tile_x[i_y][i] * tile_up[i][i_x];
        }
        __syncthreads();
    }

    if (row < rows && column < width) {
        volatile float* stored = out + row * width + column;
        *stored = gate / (1.0f + expf(-gate));
        *stored = *stored * up;
    }
}
