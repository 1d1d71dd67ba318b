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

    // This thread's pair, counted through the whole of x.
    int p = blockIdx.x * blockDim.x + threadIdx.x;

    // 1. Is there such a pair?

    // 2. Take p apart: which i within its head, which row, which position?

    // 3. Load the pair and its turn, and write out[p] with
    //    make_float2(..., ...).
}
