// out = silu(x gate) * (x up): gate and up are the two halves of w.
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
            // 1. The sum of up needs the same number of x.
        }
        __syncthreads();
    }

    if (row < rows && column < width) {
        // 2. This is gate alone. Apply the activation, and multiply by up.
        out[row * width + column] = gate;
    }
}
