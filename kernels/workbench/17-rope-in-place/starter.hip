// Pairs of x turned by the angle of their position, in place.
extern "C" __global__ void rope_in_place(
        float* x, const float* table,
        int rows, int heads, int head_dim, int sequence) {
    // One thread an element: it reads its partner, which another thread
    // overwrites. Who should have both?
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < rows * heads * head_dim; i += gridDim.x * blockDim.x) {
        int position = i / (heads * head_dim) % sequence;
        int pair = position * head_dim + i % head_dim / 2 * 2;
        float cosine = table[pair];
        float sine = table[pair + 1];
        if (i % 2 == 0) {
            x[i] = x[i] * cosine - x[i + 1] * sine;
        } else {
            x[i] = x[i - 1] * sine + x[i] * cosine;
        }
    }
}
