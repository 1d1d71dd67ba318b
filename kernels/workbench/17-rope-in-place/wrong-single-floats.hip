// Slow: right, with two loads and two stores where one of each would do.
extern "C" __global__ void rope_in_place(float* x, const float* table, int rows, int heads, int head_dim, int sequence) {
    const float2* turns = reinterpret_cast<const float2*>(table);
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int half = head_dim / 2;
    if (p >= rows * heads * half) return;
    float2 turn = turns[p / (heads * half) % sequence * half + p % half];
    float a = x[2 * p];
    float b = x[2 * p + 1];
    x[2 * p] = a * turn.x - b * turn.y;
    x[2 * p + 1] = a * turn.y + b * turn.x;
}
