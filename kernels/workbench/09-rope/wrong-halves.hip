// Wrong: it pairs element i with element i + head_dim / 2, as some models do. This one pairs neighbours.
extern "C" __global__ void rope(const float* x, const float* table, float* y, int rows, int heads, int head_dim,
                                int sequence) {
    int half = head_dim / 2;
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < rows * heads * half) {
        int i = p % half;
        int head = p / half * head_dim;
        int turn = (p / (heads * half) % sequence * half + i) * 2;
        float a = x[head + i], b = x[head + half + i];
        y[head + i] = a * table[turn] - b * table[turn + 1];
        y[head + half + i] = a * table[turn + 1] + b * table[turn];
    }
}
