// Wrong: the row is no position where several sequences follow each other.
extern "C" __global__ void rope_in_place(float* x, const float* table, int rows, int heads, int head_dim, int sequence) {
    float2* pairs = reinterpret_cast<float2*>(x);
    const float2* turns = reinterpret_cast<const float2*>(table);
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int half = head_dim / 2;
    if (p >= rows * heads * half) return;
    float2 v = pairs[p];
    float2 turn = turns[p / (heads * half) * half + p % half];
    pairs[p] = make_float2(v.x * turn.x - v.y * turn.y, v.x * turn.y + v.y * turn.x);
}
