// Turns pairs (2i, 2i + 1) of x [rows, heads, head_dim] by their position.
// table: cos and sin, [sequence, head_dim / 2, 2].
extern "C" __global__ void rope(
        const float* x, const float* table, float* y, int rows, int heads,
        int head_dim, int sequence) {
    // All three as arrays of pairs: pairs[p].x is x[2 * p] and pairs[p].y is
    // x[2 * p + 1]; a turn is {cos, sin}.
    const float2* pairs = reinterpret_cast<const float2*>(x);
    const float2* turns = reinterpret_cast<const float2*>(table);
    float2* out = reinterpret_cast<float2*>(y);

    int half = head_dim / 2;
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < rows * heads * half) {
        int i = p % half;
        int row = p / (heads * half);
        // 1. Which position has this row?

        // 2. Load the pair and its turn.

        // 3. Write out[p] with make_float2(..., ...).
    }
}
