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

    int head = blockIdx.y * sequence * head_dim;
    int query = blockIdx.x * blockDim.x + threadIdx.x;

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
        // All threads have finished with the tile before.
        __syncthreads();
        for (int at = threadIdx.x; at < KEYS * WIDEST; at += blockDim.x) {
            int j = at / WIDEST, i = at % WIDEST;
            bool inside = start + j < sequence && i < head_dim;
            int from = head + (start + j) * head_dim + i;
            keys[j][i] = inside ? k[from] : 0.0f;
            values[j][i] = inside ? v[from] : 0.0f;
        }
        __syncthreads();

        // The first key of the tile is the earliest: a query that does not
        // see it sees none.
        if (query < sequence && start <= query) {
            float score[KEYS];
            float larger = m;
            #pragma unroll
            for (int j = 0; j < KEYS; j++) {
                float dot = 0.0f;
                #pragma unroll
                for (int i = 0; i < WIDEST; i++) {
                    dot += own[i] * keys[j][i];
                }
                score[j] = start + j <= query ? dot : -INFINITY;
                larger = fmaxf(larger, score[j]);
            }

            float shrink = expf(m - larger);
            m = larger;
            l *= shrink;
            #pragma unroll
            for (int i = 0; i < WIDEST; i++) {
                result[i] *= shrink;
            }

            #pragma unroll
            for (int j = 0; j < KEYS; j++) {
                float share = expf(score[j] - m);
                l += share;
                #pragma unroll
                for (int i = 0; i < WIDEST; i++) {
                    result[i] += share * values[j][i];
                }
            }
        }
    }

    if (query < sequence) {
        #pragma unroll
        for (int i = 0; i < WIDEST; i++) {
            if (i < head_dim) {
                out[head + query * head_dim + i] = result[i] / l;
            }
        }
    }
}
