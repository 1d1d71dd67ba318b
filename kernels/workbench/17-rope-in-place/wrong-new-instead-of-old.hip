// Wrong: the second result is computed from the first one, not from the number that was there.
extern "C" __global__ void rope_in_place(float* x, const float* table, int rows, int heads, int head_dim, int sequence) {
    float2* pairs = reinterpret_cast<float2*>(x);
    const float2* turns = reinterpret_cast<const float2*>(table);
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int half = head_dim / 2;
    if (p >= rows * heads * half) return;
    float2 v = pairs[p], turn = turns[p / (heads * half) % sequence * half + p % half];
    v.x = v.x * turn.x - v.y * turn.y;
    v.y = v.x * turn.y + v.y * turn.x;
    pairs[p] = v;
}
