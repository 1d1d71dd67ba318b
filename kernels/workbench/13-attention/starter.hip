// Causal attention with online softmax: one thread per query, keys and values in
// tiles of 16.
constexpr int KEYS = 16;
constexpr int WIDEST = 64;

// A workgroup never has more than 64 threads, so the compiler may give each of
// them more registers.
extern "C" __global__ void __launch_bounds__(64) attention(
        const float* q, const float* k, const float* v, float* out, int heads,
        int sequence, int head_dim, float scale) {
    __shared__ float keys[KEYS][WIDEST];
    __shared__ float values[KEYS][WIDEST];

    // The start of this head in q, k, v and out; this thread's query in it.
    int head = blockIdx.y * sequence * head_dim;
    int query = blockIdx.x * blockDim.x + threadIdx.x;

    // The query and the result so far. Loops over them have a fixed length,
    // so that they can stay in registers.
    float own[WIDEST], result[WIDEST];
    #pragma unroll
    for (int i = 0; i < WIDEST; i++) {
        bool inside = query < sequence && i < head_dim;
        own[i] = inside ? q[head + query * head_dim + i] * scale : 0.0f;
        result[i] = 0.0f;
    }
    float m = -INFINITY, l = 0.0f;

    int end = min(sequence, (int)((blockIdx.x + 1) * blockDim.x));
    for (int start = 0; start < end; start += KEYS) {
        // 1. Load KEYS keys and values, all threads together; 0 past the end.
        //    Which places need barriers?

        // 2. If this query sees any of them: the scores, their maximum, and
        //    what shrinks because of it.

        // 3. Add the new ones to l and result.
    }

    // 4. Write result[i] / l for i < head_dim, if there is such a query.
}
