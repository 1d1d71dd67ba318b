// Causal attention over tiles of TILE queries and TILE keys, scores in registers. Rotation happens while tiles are loaded,
// and its inverse while gradients are stored. Query heads that share a key head read the same one; nothing is repeated.
//
// Products are made of pieces that a team multiplies at once, C[16][8] += A[16][STEP] B[STEP][8]. With g = lane / 4 and
// t = lane % 4, a lane holds of C the elements (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1), of A the same rows and of
// B column g. Which columns of A a lane holds is chosen so that a C in registers is an A as it stands: for f32, (2t, 2t + 1)
// where the instruction counts (t, t + 4); the sum runs over all of them in either order.

constexpr int STEP = OPERAND_BITS == 16 ? 16 : 8;
// Width of a head, filled up with zeros to whole pieces.
constexpr int HEAD_WIDE = (HEAD_DIM + 15) / 16 * 16;
// Elements from one row of a tile to the next: the padding spreads rows over the banks.
constexpr int ROW = HEAD_WIDE + 8;
constexpr int STEPS = HEAD_WIDE / STEP;
constexpr int PIECES = HEAD_WIDE / 8;
// Columns of C that become one A.
constexpr int CHUNK = STEP / 8;
constexpr int GROUP = HEADS / KV_HEADS;
constexpr int COLUMNS = (HEADS + 2 * KV_HEADS) * HEAD_DIM;
constexpr int TILE_THREADS = TILE / 16 * TEAM;
constexpr float LOG2_E = 1.4426950408889634f;

struct A {
    unsigned word[4];
};
struct B {
    unsigned word[2];
};

INLINE unsigned rounded(float value) {
#if TENSOR_CORES && OPERAND_BITS == 32 && defined(TUTOR_CUDA)
    unsigned word;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
    return word;
#else
    return bits_of(value);
#endif
}

#if OPERAND_BITS == 16
INLINE unsigned word_at(const Operand* place) { return *reinterpret_cast<const unsigned*>(place); }
INLINE unsigned pair_at(const Operand* low, const Operand* high) {
    return (unsigned)low->bits | ((unsigned)high->bits << 16);
}
#endif

// A[row][column] = tile[first_row + row][first_column + column].
INLINE A load_a(const Operand* tile, int first_row, int first_column) {
    const int g = lane_of_thread() / 4, t = lane_of_thread() % 4;
    const Operand* top = tile + (first_row + g) * ROW + first_column + 2 * t;
    const Operand* bottom = top + 8 * ROW;
    A a;
#if OPERAND_BITS == 16
    a.word[0] = word_at(top);
    a.word[1] = word_at(bottom);
    a.word[2] = word_at(top + 8);
    a.word[3] = word_at(bottom + 8);
#else
    a.word[0] = bits_of(top[0]);
    a.word[1] = bits_of(bottom[0]);
    a.word[2] = bits_of(top[1]);
    a.word[3] = bits_of(bottom[1]);
#endif
    return a;
}

// B[k][n] = tile[first_n + n][first_k + k].
INLINE B load_b_rows(const Operand* tile, int first_n, int first_k) {
    const int g = lane_of_thread() / 4, t = lane_of_thread() % 4;
    const Operand* place = tile + (first_n + g) * ROW + first_k + 2 * t;
    B b;
#if OPERAND_BITS == 16
    b.word[0] = word_at(place);
    b.word[1] = word_at(place + 8);
#else
    b.word[0] = bits_of(place[0]);
    b.word[1] = bits_of(place[1]);
#endif
    return b;
}

// B[k][n] = tile[first_k + k][first_n + n].
INLINE B load_b_columns(const Operand* tile, int first_k, int first_n) {
    const int g = lane_of_thread() / 4, t = lane_of_thread() % 4;
    const Operand* place = tile + (first_k + 2 * t) * ROW + first_n + g;
    B b;
#if OPERAND_BITS == 16
    b.word[0] = pair_at(place, place + ROW);
    b.word[1] = pair_at(place + 8 * ROW, place + 9 * ROW);
#else
    b.word[0] = bits_of(place[0]);
    b.word[1] = bits_of(place[ROW]);
#endif
    return b;
}

// CHUNK pieces of C beside each other as an A.
INLINE A as_a(const float (&c)[CHUNK][4]) {
    A a;
#if OPERAND_BITS == 16
    a.word[0] = pack_bf16(c[0][0], c[0][1]);
    a.word[1] = pack_bf16(c[0][2], c[0][3]);
    a.word[2] = pack_bf16(c[1][0], c[1][1]);
    a.word[3] = pack_bf16(c[1][2], c[1][3]);
#else
    a.word[0] = rounded(c[0][0]);
    a.word[1] = rounded(c[0][2]);
    a.word[2] = rounded(c[0][1]);
    a.word[3] = rounded(c[0][3]);
#endif
    return a;
}

#if TENSOR_CORES && defined(TUTOR_CUDA)
INLINE void multiply(float (&c)[4], const A& a, const B& b) {
#if OPERAND_BITS == 16
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]));
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]));
#endif
}
#elif TENSOR_CORES && defined(TUTOR_EMULATED)
INLINE void multiply(float (&c)[4], const A& a, const B& b) { emulated_mma(c, a.word, b.word, OPERAND_BITS); }
#else
// Without matrix cores, or with every digit: each lane fetches what it needs from those that hold it. A function that is
// called, because hundreds of copies of it would not fit the registers.
struct C {
    float value[4];
};

static __device__ NEVER_INLINE C multiply_by_lanes(C c, A a, B b) {
    const int g = lane_of_thread() / 4, t = lane_of_thread() % 4;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int row = g * 4 + k / 2, column = t * 8 + k / 2;
#pragma unroll
        for (int unit = 0; unit < CHUNK; ++unit) {
#if OPERAND_BITS == 16
            const unsigned top = SHUFFLE(a.word[2 * unit], row), bottom = SHUFFLE(a.word[2 * unit + 1], row);
            const unsigned left = SHUFFLE(b.word[unit], column), right = SHUFFLE(b.word[unit], column + 4);
            const float high = k % 2 ? high_half(top) : low_half(top);
            const float low = k % 2 ? high_half(bottom) : low_half(bottom);
            const float first = k % 2 ? high_half(left) : low_half(left);
            const float second = k % 2 ? high_half(right) : low_half(right);
#else
            const float high = float_of(SHUFFLE(a.word[k % 2 * 2], row));
            const float low = float_of(SHUFFLE(a.word[k % 2 * 2 + 1], row));
            const float first = float_of(SHUFFLE(b.word[k % 2], column));
            const float second = float_of(SHUFFLE(b.word[k % 2], column + 4));
#endif
            c.value[0] = fmaf(high, first, c.value[0]);
            c.value[1] = fmaf(high, second, c.value[1]);
            c.value[2] = fmaf(low, first, c.value[2]);
            c.value[3] = fmaf(low, second, c.value[3]);
        }
    }
    return c;
}

INLINE void multiply(float (&c)[4], const A& a, const B& b) {
    C sum;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum.value[i] = c[i];
    sum = multiply_by_lanes(sum, a, b);
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] = sum.value[i];
}
#endif

INLINE Operand as_operand(float value) {
#if OPERAND_BITS == 16
    return narrow(value);
#else
    return float_of(rounded(value));
#endif
}

// Rows first_row.. of one head into a tile, rotated or not; zeros behind the sequence and beside the head.
template <bool ROTATED>
INLINE void load_tile(Operand* tile, const Operand* head, int row_length, int first_row, const float* rotary) {
    constexpr int V = HEAD_DIM % WIDE == 0 ? WIDE : 2;
    constexpr int PER_ROW = HEAD_WIDE / V;
    for (int index = threadIdx.x; index < TILE * PER_ROW; index += TILE_THREADS) {
        const int row = index / PER_ROW, column = index % PER_ROW * V, position = first_row + row;
        float values[V];
        if (position < SEQUENCE && column < HEAD_DIM) {
            load(head + (size_t)position * row_length + column, values);
            if (ROTATED) {
                float angles[V];
                load(rotary + (size_t)position * HEAD_DIM + column, angles);
#pragma unroll
                for (int i = 0; i < V; i += 2) {
                    const float even = values[i], odd = values[i + 1];
                    values[i] = even * angles[i] - odd * angles[i + 1];
                    values[i + 1] = even * angles[i + 1] + odd * angles[i];
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < V; ++i) values[i] = 0.0f;
        }
#if OPERAND_BITS == 32
#pragma unroll
        for (int i = 0; i < V; ++i) values[i] = as_operand(values[i]);
#endif
        store(tile + row * ROW + column, values);
    }
}

// The two elements of one row that a lane holds of each piece, turned back if they are of a query or key.
template <bool ROTATED>
INLINE void store_row(Operand* head, int row_length, int position, const float (&c)[PIECES][4], int half, float factor,
                      const float* rotary) {
    if (position >= SEQUENCE) return;
    const int t = lane_of_thread() % 4;
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) {
        const int column = piece * 8 + 2 * t;
        if (column < HEAD_DIM) {
            float pair[2] = {c[piece][2 * half] * factor, c[piece][2 * half + 1] * factor};
            if (ROTATED) {
                const float cosine = rotary[(size_t)position * HEAD_DIM + column];
                const float sine = rotary[(size_t)position * HEAD_DIM + column + 1];
                const float even = pair[0];
                pair[0] = even * cosine + pair[1] * sine;
                pair[1] = pair[1] * cosine - even * sine;
            }
            Operand* place = head + (size_t)position * row_length + column;
#if OPERAND_BITS == 16
            *reinterpret_cast<unsigned*>(place) = pack_bf16(pair[0], pair[1]);
#else
            place[0] = pair[0];
            place[1] = pair[1];
#endif
        }
    }
}

// Over the four lanes that hold a row of C.
INLINE float row_sum(float value) {
    value += SHUFFLE_XOR(value, 1);
    return value + SHUFFLE_XOR(value, 2);
}
INLINE float row_max(float value) {
    value = fmaxf(value, SHUFFLE_XOR(value, 1));
    return fmaxf(value, SHUFFLE_XOR(value, 2));
}

// A block takes a tile of queries of one head: grid (tiles, heads, samples).
KERNEL __launch_bounds__(TILE_THREADS)
attention(const Operand* qkv, const float* rotary, Operand* mixed, float* log_sums, float scale) {
    wait_for_earlier();
    DYNAMIC_SHARED(Operand, memory);
    Operand *queries = memory, *keys = memory + TILE * ROW, *values = memory + 2 * TILE * ROW;
    // The longest rows first, so that the short ones fill up the end.
    const int tile = gridDim.x - 1 - blockIdx.x, head = blockIdx.y, sample = blockIdx.z;
    const int g = lane_of_thread() / 4, t = lane_of_thread() % 4, first_row = team_of_thread() * 16;
    const Operand* rows = qkv + (size_t)sample * SEQUENCE * COLUMNS;
    const Operand* key_head = rows + (HEADS + head / GROUP) * HEAD_DIM;
    const Operand* value_head = key_head + KV_HEADS * HEAD_DIM;
    load_tile<true>(queries, rows + head * HEAD_DIM, COLUMNS, tile * TILE, rotary);
    __syncthreads();
    A q[STEPS];
#pragma unroll
    for (int step = 0; step < STEPS; ++step) q[step] = load_a(queries, first_row, step * STEP);

    const float factor = scale * LOG2_E;
    float out[PIECES][4] = {};
    float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
    for (int key_tile = 0; key_tile <= tile; ++key_tile) {
        __syncthreads();
        load_tile<true>(keys, key_head, COLUMNS, key_tile * TILE, rotary);
        load_tile<false>(values, value_head, COLUMNS, key_tile * TILE, rotary);
        __syncthreads();
        float scores[TILE / STEP][CHUNK][4] = {};
#pragma unroll
        for (int chunk = 0; chunk < TILE / STEP; ++chunk)
#pragma unroll
            for (int part = 0; part < CHUNK; ++part)
#pragma unroll
                for (int step = 0; step < STEPS; ++step)
                    multiply(scores[chunk][part], q[step], load_b_rows(keys, chunk * STEP + part * 8, step * STEP));
        float most[2] = {largest[0], largest[1]};
#pragma unroll
        for (int chunk = 0; chunk < TILE / STEP; ++chunk)
#pragma unroll
            for (int part = 0; part < CHUNK; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int column = chunk * STEP + part * 8 + 2 * t + i % 2, row = first_row + g + i / 2 * 8;
                    if (key_tile == tile && column > row) scores[chunk][part][i] = -INFINITY;
                    most[i / 2] = fmaxf(most[i / 2], scores[chunk][part][i]);
                }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            most[half] = row_max(most[half]);
            const float shrink = exp2f((largest[half] - most[half]) * factor);
            largest[half] = most[half];
            sum[half] *= shrink;
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece) {
                out[piece][2 * half] *= shrink;
                out[piece][2 * half + 1] *= shrink;
            }
        }
#pragma unroll
        for (int chunk = 0; chunk < TILE / STEP; ++chunk) {
#pragma unroll
            for (int part = 0; part < CHUNK; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float weight = exp2f((scores[chunk][part][i] - most[i / 2]) * factor);
                    scores[chunk][part][i] = weight;
                    sum[i / 2] += weight;
                }
            const A weights = as_a(scores[chunk]);
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece)
                multiply(out[piece], weights, load_b_columns(values, chunk * STEP, piece * 8));
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int position = tile * TILE + first_row + g + half * 8;
        const float total = row_sum(sum[half]);
        Operand* to = mixed + (size_t)sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
        store_row<false>(to, HEADS * HEAD_DIM, position, out, half, 1.0f / total, rotary);
        if (t == 0 && position < SEQUENCE)
            log_sums[((size_t)sample * HEADS + head) * SEQUENCE + position] = largest[half] * scale + logf(total);
    }
}

struct Backward {
    const Operand *qkv, *mixed, *mixed_gradient;
    const float *rotary, *log_sums;
    Operand* qkv_gradient;
    float scale;
    int sample;
};

// Log sums (in powers of two) and sums of output times gradient of a tile's queries. Two threads take a row. Behind the
// sequence the log sum is infinite, which makes every weight zero.
INLINE void load_statistics(const Backward& b, int head, int first_row, const Operand* gradients, float* logs, float* deltas) {
    constexpr int V = HEAD_DIM % (2 * WIDE) == 0 ? WIDE : 1;
    const int row = threadIdx.x / 2, part = threadIdx.x % 2, position = first_row + row;
    float sum = 0.0f;
    if (position < SEQUENCE) {
        const Operand* output = b.mixed + ((size_t)b.sample * SEQUENCE + position) * HEADS * HEAD_DIM + head * HEAD_DIM;
        for (int column = part * V; column < HEAD_DIM; column += 2 * V) {
            float outputs[V], slopes[V];
            load(output + column, outputs);
            load(gradients + row * ROW + column, slopes);
#pragma unroll
            for (int i = 0; i < V; ++i) sum += outputs[i] * slopes[i];
        }
    }
    sum += SHUFFLE_XOR(sum, 1);
    if (part == 0) {
        deltas[row] = sum;
        const size_t at = ((size_t)b.sample * HEADS + head) * SEQUENCE + position;
        logs[row] = position < SEQUENCE ? b.log_sums[at] * LOG2_E : INFINITY;
    }
}

// Gradients of a tile of keys and their values: rows of C are keys, columns queries.
INLINE void key_gradients(const Backward& b, int tile, int key_head, Operand* memory) {
    Operand *keys = memory, *values = memory + TILE * ROW, *queries = memory + 2 * TILE * ROW,
            *gradients = memory + 3 * TILE * ROW;
    float* logs = reinterpret_cast<float*>(memory + 4 * TILE * ROW);
    float* deltas = logs + TILE;
    const int g = lane_of_thread() / 4, t = lane_of_thread() % 4, first_row = team_of_thread() * 16;
    const Operand* rows = b.qkv + (size_t)b.sample * SEQUENCE * COLUMNS;
    const int key_column = (HEADS + key_head) * HEAD_DIM, value_column = key_column + KV_HEADS * HEAD_DIM;
    load_tile<true>(keys, rows + key_column, COLUMNS, tile * TILE, b.rotary);
    load_tile<false>(values, rows + value_column, COLUMNS, tile * TILE, b.rotary);
    __syncthreads();
    A k[STEPS], v[STEPS];
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        k[step] = load_a(keys, first_row, step * STEP);
        v[step] = load_a(values, first_row, step * STEP);
    }
    const float factor = b.scale * LOG2_E;
    float key_sums[PIECES][4] = {}, value_sums[PIECES][4] = {};
    for (int member = 0; member < GROUP; ++member) {
        const int head = key_head * GROUP + member;
        const Operand* gradient_head =
            b.mixed_gradient + (size_t)b.sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
        for (int query_tile = tile; query_tile * TILE < SEQUENCE; ++query_tile) {
            __syncthreads();
            load_tile<true>(queries, rows + head * HEAD_DIM, COLUMNS, query_tile * TILE, b.rotary);
            load_tile<false>(gradients, gradient_head, HEADS * HEAD_DIM, query_tile * TILE, b.rotary);
            __syncthreads();
            load_statistics(b, head, query_tile * TILE, gradients, logs, deltas);
            __syncthreads();
#pragma unroll 1
            for (int chunk = 0; chunk < TILE / STEP; ++chunk) {
                float scores[CHUNK][4] = {}, slopes[CHUNK][4] = {};
#pragma unroll
                for (int part = 0; part < CHUNK; ++part)
#pragma unroll
                    for (int step = 0; step < STEPS; ++step) {
                        const int column = chunk * STEP + part * 8;
                        multiply(scores[part], k[step], load_b_rows(queries, column, step * STEP));
                        multiply(slopes[part], v[step], load_b_rows(gradients, column, step * STEP));
                    }
#pragma unroll
                for (int part = 0; part < CHUNK; ++part)
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        const int column = chunk * STEP + part * 8 + 2 * t + i % 2, row = first_row + g + i / 2 * 8;
                        const bool hidden = query_tile == tile && row > column;
                        const float weight = hidden ? 0.0f : exp2f(scores[part][i] * factor - logs[column]);
                        scores[part][i] = weight;
                        slopes[part][i] = weight * (slopes[part][i] - deltas[column]);
                    }
                const A weights = as_a(scores), score_slopes = as_a(slopes);
#pragma unroll
                for (int piece = 0; piece < PIECES; ++piece) {
                    multiply(value_sums[piece], weights, load_b_columns(gradients, chunk * STEP, piece * 8));
                    multiply(key_sums[piece], score_slopes, load_b_columns(queries, chunk * STEP, piece * 8));
                }
            }
        }
    }
    Operand* to = b.qkv_gradient + (size_t)b.sample * SEQUENCE * COLUMNS;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int position = tile * TILE + first_row + g + half * 8;
        store_row<true>(to + key_column, COLUMNS, position, key_sums, half, b.scale, b.rotary);
        store_row<false>(to + value_column, COLUMNS, position, value_sums, half, 1.0f, b.rotary);
    }
}

// Gradients of a tile of queries: rows of C are queries, columns keys.
INLINE void query_gradients(const Backward& b, int tile, int head, Operand* memory) {
    Operand *keys = memory, *values = memory + TILE * ROW, *queries = memory + 2 * TILE * ROW,
            *gradients = memory + 3 * TILE * ROW;
    float* logs = reinterpret_cast<float*>(memory + 4 * TILE * ROW);
    float* deltas = logs + TILE;
    const int g = lane_of_thread() / 4, t = lane_of_thread() % 4, first_row = team_of_thread() * 16;
    const Operand* rows = b.qkv + (size_t)b.sample * SEQUENCE * COLUMNS;
    const Operand* key_head = rows + (HEADS + head / GROUP) * HEAD_DIM;
    const Operand* value_head = key_head + KV_HEADS * HEAD_DIM;
    const size_t sample = (size_t)b.sample * SEQUENCE * HEADS * HEAD_DIM;
    load_tile<true>(queries, rows + head * HEAD_DIM, COLUMNS, tile * TILE, b.rotary);
    load_tile<false>(gradients, b.mixed_gradient + sample + head * HEAD_DIM, HEADS * HEAD_DIM, tile * TILE, b.rotary);
    __syncthreads();
    load_statistics(b, head, tile * TILE, gradients, logs, deltas);
    A q[STEPS], d[STEPS];
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        q[step] = load_a(queries, first_row, step * STEP);
        d[step] = load_a(gradients, first_row, step * STEP);
    }
    const float factor = b.scale * LOG2_E;
    float sums[PIECES][4] = {};
    for (int key_tile = 0; key_tile <= tile; ++key_tile) {
        __syncthreads();
        load_tile<true>(keys, key_head, COLUMNS, key_tile * TILE, b.rotary);
        load_tile<false>(values, value_head, COLUMNS, key_tile * TILE, b.rotary);
        __syncthreads();
#pragma unroll 1
        for (int chunk = 0; chunk < TILE / STEP; ++chunk) {
            float scores[CHUNK][4] = {}, slopes[CHUNK][4] = {};
#pragma unroll
            for (int part = 0; part < CHUNK; ++part)
#pragma unroll
                for (int step = 0; step < STEPS; ++step) {
                    const int column = chunk * STEP + part * 8;
                    multiply(scores[part], q[step], load_b_rows(keys, column, step * STEP));
                    multiply(slopes[part], d[step], load_b_rows(values, column, step * STEP));
                }
#pragma unroll
            for (int part = 0; part < CHUNK; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int column = chunk * STEP + part * 8 + 2 * t + i % 2, row = first_row + g + i / 2 * 8;
                    const bool hidden = key_tile == tile && column > row;
                    const float weight = hidden ? 0.0f : exp2f(scores[part][i] * factor - logs[row]);
                    slopes[part][i] = weight * (slopes[part][i] - deltas[row]);
                }
            const A score_slopes = as_a(slopes);
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece)
                multiply(sums[piece], score_slopes, load_b_columns(keys, chunk * STEP, piece * 8));
        }
    }
    Operand* to = b.qkv_gradient + (size_t)b.sample * SEQUENCE * COLUMNS + head * HEAD_DIM;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int position = tile * TILE + first_row + g + half * 8;
        store_row<true>(to, COLUMNS, position, sums, half, b.scale, b.rotary);
    }
}

// A block takes a tile of keys or a tile of queries, so nothing has to be added across blocks: grid (tiles, key heads +
// heads, samples).
KERNEL __launch_bounds__(TILE_THREADS)
attention_backward(const Operand* qkv, const float* rotary, const Operand* mixed, const float* log_sums,
                   const Operand* mixed_gradient, Operand* qkv_gradient, float scale) {
    wait_for_earlier();
    DYNAMIC_SHARED(Operand, memory);
    Backward b;
    b.qkv = qkv;
    b.mixed = mixed;
    b.mixed_gradient = mixed_gradient;
    b.rotary = rotary;
    b.log_sums = log_sums;
    b.qkv_gradient = qkv_gradient;
    b.scale = scale;
    b.sample = blockIdx.z;
    if (blockIdx.y < KV_HEADS) {
        key_gradients(b, blockIdx.x, blockIdx.y, memory);
    } else {
        query_gradients(b, gridDim.x - 1 - blockIdx.x, blockIdx.y - KV_HEADS, memory);
    }
}
