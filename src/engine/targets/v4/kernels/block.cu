// The forward pass of a whole transformer block in one launch: an experiment.
//
// Blocks of a launch cannot wait for each other. So a thread block computes everything that its 16 tokens need, also
// keys and values of all earlier tokens, which other blocks compute as well. It streams every weight of the transformer
// block through its shared memory for these 16 rows.

constexpr int STRIP = 16;
constexpr int BLOCK_TEAMS = 8;
constexpr int BLOCK_THREADS = BLOCK_TEAMS * TEAM;
// Columns that a block computes at once: two pieces per team.
constexpr int SLAB = BLOCK_TEAMS * 16;
// Rows of a weight that are in shared memory at a time.
constexpr int DEPTH = 32;
constexpr int KV_WIDTH = KV_HEADS * HEAD_DIM;
// Every sequence that fits is one series of strips.
constexpr int STRIPS = (SEQUENCE + STRIP - 1) / STRIP;
constexpr int KEYS = STRIPS * STRIP;
constexpr int SLABS = (HIDDEN + SLAB - 1) / SLAB;

constexpr int HIDDEN_ROW = (HIDDEN + DEPTH - 1) / DEPTH * DEPTH + WIDE;
constexpr int SLAB_ROW = SLAB + WIDE;
constexpr int SCORE_ROW = KEYS > SLAB ? KEYS : SLAB;
constexpr int WEIGHT_ROW = KEYS > SLAB ? KEYS + WIDE : SLAB_ROW;

// Sizes are in elements of the operands' type; scores and the stream are f32.
struct BlockMemory {
    Operand *normed, *others, *mixed, *keys, *values, *queries, *weights, *activated;
    float *stream, *scores;
};

INLINE BlockMemory block_memory(Operand* memory) {
    BlockMemory at;
    at.stream = reinterpret_cast<float*>(memory);
    at.scores = at.stream + STRIP * HIDDEN;
    at.normed = reinterpret_cast<Operand*>(at.scores + STRIP * SCORE_ROW);
    at.others = at.normed + STRIP * HIDDEN_ROW;
    at.mixed = at.others + STRIP * HIDDEN_ROW;
    at.keys = at.mixed + STRIP * HIDDEN_ROW;
    at.values = at.keys + KEYS * ROW;
    at.queries = at.values + KEYS * ROW;
    at.weights = at.queries + STRIP * ROW;
    at.activated = at.weights + DEPTH * SLAB_ROW;
    return at;
}

// Normalises rows first_row.. of a matrix with HIDDEN columns; zeros after the end. The caller needs a barrier afterwards.
INLINE void normalize_strip(Operand* to, const float* rows, int first_row, int end, const float* weight, float epsilon) {
    const int lane = lane_of_thread();
    for (int row = team_of_thread(); row < STRIP; row += BLOCK_TEAMS) {
        const float* x = rows + (size_t)(first_row + row) * HIDDEN;
        const bool there = first_row + row < end;
        float squares = 0.0f;
        for (int column = lane; there && column < HIDDEN; column += TEAM) squares += x[column] * x[column];
        const float factor = 1.0f / sqrtf(team_sum(squares) / HIDDEN + epsilon);
        for (int column = lane; column < HIDDEN_ROW; column += TEAM) {
            const float value = there && column < HIDDEN ? x[column] * factor * weight[column] : 0.0f;
            to[row * HIDDEN_ROW + column] = narrow(stored(value));
        }
    }
    __syncthreads();
}

// Computes two pieces of C for this team: c += a weight. The team's 16 columns begin at `column` of a weight with
// `columns` columns and `depth` rows. All teams together take a slab. The function begins and ends with barriers.
template <int STRIDE>
INLINE void multiply_weight(float (&c)[2][4], const Operand* a, const Operand* weight, int columns, int depth,
                            const int (&slab_columns)[2], Operand* staged) {
    for (int first = 0; first < depth; first += DEPTH) {
        __syncthreads();
        for (int index = threadIdx.x; index < DEPTH * SLAB; index += BLOCK_THREADS) {
            const int k = index / SLAB, n = index % SLAB;
            // The two halves of a slab may come from different places: gate and up, or keys and values.
            const int column = slab_columns[n / (SLAB / 2)] + n % (SLAB / 2);
            const bool there = first + k < depth && column < columns && slab_columns[n / (SLAB / 2)] >= 0;
            staged[k * SLAB_ROW + n] = there ? weight[(size_t)(first + k) * columns + column] : narrow(0.0f);
        }
        __syncthreads();
#pragma unroll
        for (int step = 0; step < DEPTH; step += STEP) {
            const A part = load_a_for_columns<STRIDE>(a, 0, first + step);
            B b[2];
            load_b_columns<SLAB_ROW>(b, staged, step, team_of_thread() * 16);
            multiply(c[0], part, b[0]);
            multiply(c[1], part, b[1]);
        }
    }
    __syncthreads();
}

// Row and column, within a slab, of element i of a team's piece.
INLINE int slab_row(int i) { return lane_of_thread() / 4 + i / 2 * 8; }
INLINE int slab_column(int piece, int i) { return team_of_thread() * 16 + piece * 8 + lane_of_thread() % 4 * 2 + i % 2; }

INLINE void rotate_pair(float& even, float& odd, const float* rotary, int position, int column) {
    const float cosine = rotary[(size_t)position * HEAD_DIM + column], sine = rotary[(size_t)position * HEAD_DIM + column + 1];
    const float turned = even * sine + odd * cosine;
    even = even * cosine - odd * sine;
    odd = turned;
}

// Heads are multiples of 16 wide and at most half a slab; grid (strips, samples).
KERNEL __launch_bounds__(BLOCK_THREADS)
block_forward(const float* x, float* y, const float* attention_norm, const Operand* qkv_weight, const Operand* output_weight,
              const float* feed_forward_norm, const Operand* gate_up_weight, const Operand* down_weight, const float* rotary,
              float scale, float epsilon) {
    DYNAMIC_SHARED(Operand, memory);
    const BlockMemory at = block_memory(memory);
    const int first_token = blockIdx.x * STRIP, seen = min(first_token + STRIP, SEQUENCE);
    const float* sample = x + (size_t)blockIdx.y * SEQUENCE * HIDDEN;
    const int lane = lane_of_thread(), team = team_of_thread();
    for (int index = threadIdx.x; index < STRIP * HIDDEN_ROW; index += BLOCK_THREADS) at.mixed[index] = narrow(0.0f);
    normalize_strip(at.normed, sample, first_token, SEQUENCE, attention_norm, epsilon);

    for (int key_head = 0; key_head < KV_HEADS; ++key_head) {
        // Computes keys and values of all tokens so far again.
        for (int strip = 0; strip * STRIP < seen; ++strip) {
            normalize_strip(at.others, sample, strip * STRIP, SEQUENCE, attention_norm, epsilon);
            float c[2][4] = {};
            const int columns[2] = {HIDDEN + key_head * HEAD_DIM, HIDDEN + KV_WIDTH + key_head * HEAD_DIM};
            multiply_weight<HIDDEN_ROW>(c, at.others, qkv_weight, COLUMNS, HIDDEN, columns, at.weights);
            for (int piece = 0; piece < 2; ++piece)
                for (int half = 0; half < 2; ++half) {
                    const int row = strip * STRIP + slab_row(2 * half), place = slab_column(piece, 0);
                    const int column = place % (SLAB / 2);
                    float even = c[piece][2 * half], odd = c[piece][2 * half + 1];
                    Operand* tile = at.values;
                    if (place < SLAB / 2) {
                        tile = at.keys;
                        if (row < SEQUENCE && column < HEAD_DIM) rotate_pair(even, odd, rotary, row, column);
                    }
                    if (column < HEAD_DIM) {
                        tile[row * ROW + column] = narrow(stored(even));
                        tile[row * ROW + column + 1] = narrow(stored(odd));
                    }
                }
        }
        for (int member = 0; member < GROUP; ++member) {
            const int head = key_head * GROUP + member;
            float q[2][4] = {};
            const int columns[2] = {head * HEAD_DIM, -1};
            multiply_weight<HIDDEN_ROW>(q, at.normed, qkv_weight, COLUMNS, HIDDEN, columns, at.weights);
            for (int piece = 0; piece < 2; ++piece)
                for (int half = 0; half < 2; ++half) {
                    const int row = slab_row(2 * half), column = slab_column(piece, 0);
                    if (column < HEAD_DIM) {
                        if (first_token + row < SEQUENCE)
                            rotate_pair(q[piece][2 * half], q[piece][2 * half + 1], rotary, first_token + row, column);
                        at.queries[row * ROW + column] = narrow(stored(q[piece][2 * half]));
                        at.queries[row * ROW + column + 1] = narrow(stored(q[piece][2 * half + 1]));
                    }
                }
            __syncthreads();
            // Scores: a team takes 16 keys at a time.
            for (int key = team * 16; key < KEYS; key += BLOCK_TEAMS * 16) {
                float scores[2][4] = {};
                for (int step = 0; key < seen && step < HEAD_DIM; step += STEP) {
                    const A part = load_a<ROW>(at.queries, 0, step);
                    B b[2];
                    load_b_rows<ROW>(b, at.keys, key, step);
                    multiply(scores[0], part, b[0]);
                    multiply(scores[1], part, b[1]);
                }
                for (int piece = 0; piece < 2; ++piece)
                    for (int i = 0; i < 4; ++i) {
                        const int column = key + piece * 8 + lane % 4 * 2 + i % 2;
                        const bool hidden = column > first_token + slab_row(i);
                        at.scores[slab_row(i) * KEYS + column] = hidden ? -INFINITY : scores[piece][i] * scale;
                    }
            }
            __syncthreads();
            // Weights, stored where the scores' keys were staged; a team takes rows.
            Operand* weights = at.activated;
            for (int row = team; row < STRIP; row += BLOCK_TEAMS) {
                const float* scores = at.scores + row * KEYS;
                float largest = -INFINITY, sum = 0.0f;
                for (int key = lane; key < KEYS; key += TEAM) largest = fmaxf(largest, scores[key]);
                largest = team_max(largest);
                for (int key = lane; key < KEYS; key += TEAM) sum += __expf(scores[key] - largest);
                sum = team_sum(sum);
                for (int key = lane; key < KEYS; key += TEAM)
                    weights[row * WEIGHT_ROW + key] = narrow(stored(__expf(scores[key] - largest) / sum));
            }
            __syncthreads();
            if (team * 16 < HEAD_DIM) {
                float out[2][4] = {};
                for (int key = 0; key < seen; key += STEP) {
                    const A part = load_a_for_columns<WEIGHT_ROW>(weights, 0, key);
                    B b[2];
                    load_b_columns<ROW>(b, at.values, key, team * 16);
                    multiply(out[0], part, b[0]);
                    multiply(out[1], part, b[1]);
                }
                for (int piece = 0; piece < 2; ++piece)
                    for (int i = 0; i < 4; ++i)
                        at.mixed[slab_row(i) * HIDDEN_ROW + head * HEAD_DIM + slab_column(piece, i)] = narrow(stored(out[piece][i]));
            }
            __syncthreads();
        }
    }

    for (int slab = 0; slab < HIDDEN; slab += SLAB) {
        float c[2][4] = {};
        const int columns[2] = {slab, slab + SLAB / 2};
        multiply_weight<HIDDEN_ROW>(c, at.mixed, output_weight, HIDDEN, HIDDEN, columns, at.weights);
        for (int piece = 0; piece < 2; ++piece)
            for (int i = 0; i < 4; ++i) {
                const int row = slab_row(i), column = slab + slab_column(piece, i), token = first_token + row;
                if (column < HIDDEN) {
                    const float before = token < SEQUENCE ? sample[(size_t)token * HIDDEN + column] : 0.0f;
                    at.stream[row * HIDDEN + column] = before + c[piece][i];
                }
            }
    }
    __syncthreads();
    normalize_strip(at.normed, at.stream, 0, STRIP, feed_forward_norm, epsilon);

    float down[SLABS][2][4] = {};
    for (int first = 0; first < FFN; first += SLAB / 2) {
        float c[2][4] = {};
        const int columns[2] = {first, FFN + first};
        multiply_weight<HIDDEN_ROW>(c, at.normed, gate_up_weight, 2 * FFN, HIDDEN, columns, at.weights);
        // The first half of the teams has the gate, the second has up. They exchange values in the scores' memory.
        float* both = at.scores;
        for (int piece = 0; piece < 2; ++piece)
            for (int i = 0; i < 4; ++i) both[slab_row(i) * SLAB + slab_column(piece, i)] = c[piece][i];
        __syncthreads();
        for (int index = threadIdx.x; index < STRIP * SLAB / 2; index += BLOCK_THREADS) {
            const int row = index / (SLAB / 2), column = index % (SLAB / 2);
            const float gate = both[row * SLAB + column], up = both[row * SLAB + SLAB / 2 + column];
            const float value = first + column < FFN ? gate / (1.0f + __expf(-gate)) * up : 0.0f;
            at.activated[row * SLAB_ROW + column] = narrow(stored(value));
        }
        __syncthreads();
        const int depth = min(SLAB / 2, FFN - first);
#pragma unroll
        for (int slab = 0; slab < SLABS; ++slab) {
            const int columns[2] = {slab * SLAB, slab * SLAB + SLAB / 2};
            multiply_weight<SLAB_ROW>(down[slab], at.activated, down_weight + (size_t)first * HIDDEN, HIDDEN, depth, columns,
                                      at.weights);
        }
    }
#pragma unroll
    for (int slab = 0; slab < SLABS; ++slab)
        for (int piece = 0; piece < 2; ++piece)
            for (int i = 0; i < 4; ++i) {
                const int row = slab_row(i), column = slab * SLAB + slab_column(piece, i), token = first_token + row;
                if (column < HIDDEN && token < SEQUENCE)
                    y[((size_t)blockIdx.y * SEQUENCE + token) * HIDDEN + column] =
                        at.stream[row * HIDDEN + column] + down[slab][piece][i];
            }
}
