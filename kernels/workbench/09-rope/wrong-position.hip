// Wrong: it uses the row as the position. The second sequence reads past the end of the table.
extern "C" __global__ void rope(const float* x, const float* table, float* y, int rows, int heads, int head_dim,
                                int sequence) {
    const float2* pairs = reinterpret_cast<const float2*>(x);
    const float2* turns = reinterpret_cast<const float2*>(table);
    float2* out = reinterpret_cast<float2*>(y);
    int half = head_dim / 2;
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < rows * heads * half) {
        int i = p % half;
        int row = p / (heads * half);
        float2 v = pairs[p];
        float2 turn = turns[row * half + i];
        out[p] = make_float2(v.x * turn.x - v.y * turn.y, v.x * turn.y + v.y * turn.x);
    }
}
