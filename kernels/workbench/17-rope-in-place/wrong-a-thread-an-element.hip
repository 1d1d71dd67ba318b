// Wrong: each thread reads its partner, which another thread overwrites.
extern "C" __global__ void rope_in_place(float* x, const float* table, int rows, int heads, int head_dim, int sequence) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < rows * heads * head_dim; i += gridDim.x * blockDim.x) {
        int position = i / (heads * head_dim) % sequence;
        int pair = position * head_dim + i % head_dim / 2 * 2;
        float own = x[i];
        float other = x[i ^ 1];
        x[i] = i % 2 == 0 ? own * table[pair] - other * table[pair + 1] : other * table[pair + 1] + own * table[pair];
    }
}
