// Slow: right, with two loads and two stores where one of each would do. The distance is 1, but no compiler can see that
// and merge them.
extern "C" __global__ void rope_in_place(float* x, const float* table, int rows, int heads, int head_dim, int sequence) {
    const float2* turns = reinterpret_cast<const float2*>(table);
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int half = head_dim / 2;
    if (p >= rows * heads * half) return;
    float2 turn = turns[p / (heads * half) % sequence * half + p % half];
    int next = head_dim / half - 1;
    float a = x[2 * p];
    float b = x[2 * p + next];
    x[2 * p] = a * turn.x - b * turn.y;
    x[2 * p + next] = a * turn.y + b * turn.x;
}
