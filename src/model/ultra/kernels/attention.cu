// Causal attention over tiles of TILE queries and TILE keys, scores in registers. Rotation happens while tiles are loaded,
// and its inverse while gradients are stored. Query heads that share a key head read the same one; nothing is repeated.
// A block has GROUPS groups of threads. All work for the same rows, each on other tiles; at the end the first adds up.
//
// Products are made of pieces that a team multiplies at once, C[16][8] += A[16][STEP] B[STEP][8]. With g = lane / 4 and
// t = lane % 4, a lane holds of C the elements (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1), of A the rows g and g + 8
// and of B column g. In which order the columns of A and rows of B are counted does not matter as long as both agree: where A
// comes out of registers it is a C as it stands, (2t, 2t + 1) instead of the (t, t + 4) that f32 pieces have in memory.

constexpr int STEP = OPERAND_BITS == 16 ? 16 : 8;
// Width of a head, filled up with zeros to whole pieces.
constexpr int HEAD_WIDE = (HEAD_DIM + 15) / 16 * 16;
// Elements from one row of a tile to the next: 16 bytes more than the row spread rows over the banks.
constexpr int ROW = HEAD_WIDE + WIDE;
constexpr int TILE_ELEMENTS = TILE * ROW;
constexpr int STEPS = HEAD_WIDE / STEP;
constexpr int PIECES = HEAD_WIDE / 8;
// Two pieces of C beside each other are this many A.
constexpr int HALVES = 16 / STEP;
constexpr int GROUP = HEADS / KV_HEADS;
constexpr int COLUMNS = (HEADS + 2 * KV_HEADS) * HEAD_DIM;
constexpr int TILES = (SEQUENCE + TILE - 1) / TILE;
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

INLINE int group_of_thread() { return threadIdx.x / TILE_THREADS; }
INLINE int thread_of_group() { return threadIdx.x % TILE_THREADS; }
// First row of a tile that the thread's team works on.
INLINE int row_of_team() { return thread_of_group() / TEAM * 16; }

// A value as it is put into a tile of f32; bf16 is rounded when it is stored.
INLINE float stored(float value) { return OPERAND_BITS == 32 ? float_of(rounded(value)) : value; }

#if OPERAND_BITS == 16
INLINE unsigned word_at(const Operand* place) { return *reinterpret_cast<const unsigned*>(place); }
INLINE unsigned pair_at(const Operand* low, const Operand* high) {
    return (unsigned)low->bits | ((unsigned)high->bits << 16);
}
#else
INLINE unsigned word_at(const Operand* place) { return bits_of(*place); }
#endif

// Four matrices of 8 rows of 16 bytes; a lane names row lane % 8 of matrix lane / 8 and gets word t of row g of each. With
// TURNED, of 16-bit elements, it gets rows 2t and 2t + 1 of column g.
#if defined(TUTOR_CUDA) || defined(TUTOR_EMULATED)
#define HAS_MATRIX_LOADS 1
template <bool TURNED>
INLINE void load_matrices(unsigned (&word)[4], const Operand* place) {
#if defined(TUTOR_EMULATED)
    emulated_load_matrices(word, place, TURNED);
#else
    const unsigned address = (unsigned)__cvta_generic_to_shared(place);
    if (TURNED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                     : "r"(address)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                     : "r"(address)
                     : "memory");
    }
#endif
}
#endif

// A[row][column] = tile[first_row + row][first_column + column].
INLINE A load_a(const Operand* tile, int first_row, int first_column) {
    const int lane = lane_of_thread();
    A a;
#if HAS_MATRIX_LOADS
    const int row = first_row + lane / 8 % 2 * 8 + lane % 8, column = first_column + lane / 16 * (STEP / 2);
    load_matrices<false>(a.word, tile + row * ROW + column);
#else
    constexpr int WORD = STEP / 8;
    const Operand* top = tile + (first_row + lane / 4) * ROW + first_column + lane % 4 * WORD;
    const Operand* bottom = top + 8 * ROW;
    a.word[0] = word_at(top);
    a.word[1] = word_at(bottom);
    a.word[2] = word_at(top + STEP / 2);
    a.word[3] = word_at(bottom + STEP / 2);
#endif
    return a;
}

// B[k][n] = tile[first_n + n][first_k + k], and the one with eight more columns.
INLINE void load_b_rows(B (&b)[2], const Operand* tile, int first_n, int first_k) {
    const int lane = lane_of_thread();
#if HAS_MATRIX_LOADS
    const int row = first_n + lane / 16 * 8 + lane % 8, column = first_k + lane / 8 % 2 * (STEP / 2);
    unsigned word[4];
    load_matrices<false>(word, tile + row * ROW + column);
#pragma unroll
    for (int i = 0; i < 4; ++i) b[i / 2].word[i % 2] = word[i];
#else
    constexpr int WORD = STEP / 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = first_n + i / 2 * 8 + lane / 4, column = first_k + i % 2 * (STEP / 2) + lane % 4 * WORD;
        b[i / 2].word[i % 2] = word_at(tile + row * ROW + column);
    }
#endif
}

// B[k][n] = tile[first_k + k][first_n + n], and the one with eight more columns; rows counted as `as_a` counts columns.
INLINE void load_b_columns(B (&b)[2], const Operand* tile, int first_k, int first_n) {
    const int lane = lane_of_thread();
#if HAS_MATRIX_LOADS && OPERAND_BITS == 16
    const int row = first_k + lane / 8 % 2 * 8 + lane % 8, column = first_n + lane / 16 * 8;
    unsigned word[4];
    load_matrices<true>(word, tile + row * ROW + column);
#pragma unroll
    for (int i = 0; i < 4; ++i) b[i / 2].word[i % 2] = word[i];
#else
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const Operand* place = tile + first_n + i / 2 * 8 + lane / 4;
#if OPERAND_BITS == 16
        place += (first_k + i % 2 * 8 + lane % 4 * 2) * ROW;
        b[i / 2].word[i % 2] = pair_at(place, place + ROW);
#else
        b[i / 2].word[i % 2] = word_at(place + (first_k + lane % 4 * 2 + i % 2) * ROW);
#endif
    }
#endif
}

// Part `half` of two pieces of C beside each other as an A.
INLINE A as_a(const float (&c)[2][4], int half) {
    A a;
#if OPERAND_BITS == 16
    a.word[0] = pack_bf16(c[0][0], c[0][1]);
    a.word[1] = pack_bf16(c[0][2], c[0][3]);
    a.word[2] = pack_bf16(c[1][0], c[1][1]);
    a.word[3] = pack_bf16(c[1][2], c[1][3]);
#else
    a.word[0] = rounded(c[half][0]);
    a.word[1] = rounded(c[half][2]);
    a.word[2] = rounded(c[half][1]);
    a.word[3] = rounded(c[half][3]);
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
        const int row = g * 4 + k % 4, column = t * 8 + k % 4, part = k / 4;
        const unsigned top = SHUFFLE(a.word[2 * part], row), bottom = SHUFFLE(a.word[2 * part + 1], row);
        const unsigned left = SHUFFLE(b.word[part], column), right = SHUFFLE(b.word[part], column + 4);
#if OPERAND_BITS == 16
        c.value[0] = fmaf(high_half(top), high_half(left), fmaf(low_half(top), low_half(left), c.value[0]));
        c.value[1] = fmaf(high_half(top), high_half(right), fmaf(low_half(top), low_half(right), c.value[1]));
        c.value[2] = fmaf(high_half(bottom), high_half(left), fmaf(low_half(bottom), low_half(left), c.value[2]));
        c.value[3] = fmaf(high_half(bottom), high_half(right), fmaf(low_half(bottom), low_half(right), c.value[3]));
#else
        c.value[0] = fmaf(float_of(top), float_of(left), c.value[0]);
        c.value[1] = fmaf(float_of(top), float_of(right), c.value[1]);
        c.value[2] = fmaf(float_of(bottom), float_of(left), c.value[2]);
        c.value[3] = fmaf(float_of(bottom), float_of(right), c.value[3]);
#endif
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

// A thread's share of a tile on its way from device memory: all of it is asked for before any of it is waited for.
template <bool ROTATED>
struct Fetched {
    static constexpr int V = HEAD_DIM % WIDE == 0 ? WIDE : 2;
    static constexpr int PER_ROW = HEAD_WIDE / V;
    static constexpr int ROUNDS = (TILE * PER_ROW + TILE_THREADS - 1) / TILE_THREADS;

    static constexpr int WORDS = V * sizeof(Operand) / 4;

    // As they lie in memory.
    unsigned values[ROUNDS][WORDS];
    float angles[ROTATED ? ROUNDS : 1][V];

    // Rows first_row.. of one head; zeros behind the sequence and beside the head.
    static __device__ __forceinline__ Fetched of(const Operand* head, int row_length, int first_row, const float* rotary) {
        Fetched fetched;
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int index = thread_of_group() + round * TILE_THREADS;
            const int row = index / PER_ROW, column = index % PER_ROW * V, position = first_row + row;
            if (row < TILE && position < SEQUENCE && column < HEAD_DIM) {
                const Operand* place = head + (size_t)position * row_length + column;
                load(reinterpret_cast<const unsigned*>(place), fetched.values[round]);
                if (ROTATED) load(rotary + (size_t)position * HEAD_DIM + column, fetched.angles[ROTATED ? round : 0]);
            } else {
#pragma unroll
                for (int i = 0; i < WORDS; ++i) fetched.values[round][i] = 0;
#pragma unroll
                for (int i = 0; i < V; ++i) {
                    if (ROTATED) fetched.angles[ROTATED ? round : 0][i] = 0.0f;
                }
            }
        }
        return fetched;
    }

    __device__ __forceinline__ void put(Operand* tile) const {
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int index = thread_of_group() + round * TILE_THREADS;
            const int row = index / PER_ROW, column = index % PER_ROW * V;
            float turned[V];
#pragma unroll
            for (int i = 0; i < V; i += 2) {
#if OPERAND_BITS == 16
                float even = low_half(values[round][i / 2]), odd = high_half(values[round][i / 2]);
#else
                float even = float_of(values[round][i]), odd = float_of(values[round][i + 1]);
#endif
                if (ROTATED) {
                    const float cosine = angles[ROTATED ? round : 0][i], sine = angles[ROTATED ? round : 0][i + 1];
                    const float other = even * sine + odd * cosine;
                    even = even * cosine - odd * sine;
                    odd = other;
                }
                turned[i] = stored(even);
                turned[i + 1] = stored(odd);
            }
            if (row < TILE) store(tile + row * ROW + column, turned);
        }
    }
};

template <bool ROTATED>
INLINE void load_tile(Operand* tile, const Operand* head, int row_length, int first_row, const float* rotary) {
    Fetched<ROTATED>::of(head, row_length, first_row, rotary).put(tile);
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

// A team's rows of a tile: in registers where heads are narrow, otherwise fetched for every product.
constexpr bool KEPT = STEPS <= 2;
constexpr int KEPT_STEPS = KEPT ? STEPS : 1;

struct Rows {
    const Operand* tile;
    A a[KEPT_STEPS];
};

INLINE void load_rows(Rows& rows, const Operand* tile) {
    rows.tile = tile;
    if (KEPT) {
#pragma unroll
        for (int step = 0; step < KEPT_STEPS; ++step) rows.a[step] = load_a(tile, row_of_team(), step * STEP);
    }
}

// C += A B over the width of a head, for two pieces of C beside each other.
INLINE void multiply_rows(float (&c)[2][4], const Rows& rows, const Operand* tile, int first_n) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        const A a = KEPT ? rows.a[step % KEPT_STEPS] : load_a(rows.tile, row_of_team(), step * STEP);
        B b[2];
        load_b_rows(b, tile, first_n, step * STEP);
        multiply(c[0], a, b[0]);
        multiply(c[1], a, b[1]);
    }
}

// sums += c tile, where the 16 columns of c are rows first_k.. of the tile.
INLINE void multiply_columns(float (&sums)[PIECES][4], const float (&c)[2][4], const Operand* tile, int first_k) {
#pragma unroll
    for (int half = 0; half < HALVES; ++half) {
        const A a = as_a(c, half);
#pragma unroll
        for (int piece = 0; piece < PIECES; piece += 2) {
            B b[2];
            load_b_columns(b, tile, first_k + half * STEP, piece * 8);
            multiply(sums[piece], a, b[0]);
            multiply(sums[piece + 1], a, b[1]);
        }
    }
}

// Of the element i of a lane's piece of C.
INLINE int row_of(int i) { return row_of_team() + lane_of_thread() / 4 + i / 2 * 8; }
INLINE int column_of(int piece, int i) { return piece * 8 + lane_of_thread() % 4 * 2 + i % 2; }

// A place for a number of each thread of a group but the first, without bank conflicts.
INLINE float& exchanged(float* memory, int group, int count, int index) {
    return memory[((group - 1) * count + index) * TILE_THREADS + thread_of_group()];
}

// A block takes a tile of queries of one head: grid (tiles, heads, samples).
KERNEL __launch_bounds__(TILE_THREADS * GROUPS)
attention(const Operand* qkv, const float* rotary, Operand* mixed, float* log_sums, float scale) {
    wait_for_earlier();
    DYNAMIC_SHARED(Operand, memory);
    const int group = group_of_thread();
    Operand *queries = memory, *keys = memory + (1 + 2 * group) * TILE_ELEMENTS, *values = keys + TILE_ELEMENTS;
    // The longest rows first, so that the short ones fill up the end.
    const int tile = gridDim.x - 1 - blockIdx.x, head = blockIdx.y, sample = blockIdx.z;
    const Operand* rows = qkv + (size_t)sample * SEQUENCE * COLUMNS;
    const Operand* key_head = rows + (HEADS + head / GROUP) * HEAD_DIM;
    const Operand* value_head = key_head + KV_HEADS * HEAD_DIM;
    if (group == 0) load_tile<true>(queries, rows + head * HEAD_DIM, COLUMNS, tile * TILE, rotary);

    const float factor = scale * LOG2_E;
    Rows q;
    float out[PIECES][4] = {};
    float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
    for (int first_tile = 0; first_tile <= tile; first_tile += GROUPS) {
        const int key_tile = first_tile + group;
        if (first_tile > 0) __syncthreads();
        if (key_tile <= tile) {
            const auto key_rows = Fetched<true>::of(key_head, COLUMNS, key_tile * TILE, rotary);
            const auto value_rows = Fetched<false>::of(value_head, COLUMNS, key_tile * TILE, rotary);
            key_rows.put(keys);
            value_rows.put(values);
        }
        __syncthreads();
        if (first_tile == 0) {
            load_rows(q, queries);
        }
        if (key_tile > tile) continue;
        // In the tile on the diagonal a team sees no keys behind its own rows.
        const int pairs = key_tile == tile ? row_of_team() / 16 + 1 : TILE / 16;
        float scores[TILE / 16][2][4] = {};
        float most[2] = {largest[0], largest[1]};
#pragma unroll
        for (int pair = 0; pair < TILE / 16; ++pair) {
            if (pair < pairs) multiply_rows(scores[pair], q, keys, pair * 16);
#pragma unroll
            for (int part = 0; part < 2; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const bool hidden = key_tile == tile && column_of(2 * pair + part, i) > row_of(i);
                    if (hidden) scores[pair][part][i] = -INFINITY;
                    most[i / 2] = fmaxf(most[i / 2], scores[pair][part][i]);
                }
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
        for (int pair = 0; pair < TILE / 16; ++pair) {
#pragma unroll
            for (int part = 0; part < 2; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float weight = exp2f((scores[pair][part][i] - most[i / 2]) * factor);
                    scores[pair][part][i] = weight;
                    sum[i / 2] += weight;
                }
            if (pair < pairs) multiply_columns(out, scores[pair], values, pair * 16);
        }
    }
    if (GROUPS > 1 && tile > 0) {
        constexpr int COUNT = PIECES * 4 + 4;
        float* exchange = reinterpret_cast<float*>(memory);
        __syncthreads();
        if (group > 0) {
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
                for (int i = 0; i < 4; ++i) exchanged(exchange, group, COUNT, piece * 4 + i) = out[piece][i];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                exchanged(exchange, group, COUNT, PIECES * 4 + half) = largest[half];
                exchanged(exchange, group, COUNT, PIECES * 4 + 2 + half) = sum[half];
            }
        }
        __syncthreads();
        if (group == 0) {
            for (int other = 1; other < GROUPS && other <= tile; ++other) {
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const float theirs = exchanged(exchange, other, COUNT, PIECES * 4 + half);
                    const float most = fmaxf(largest[half], theirs);
                    const float shrink = exp2f((largest[half] - most) * factor);
                    const float shrink_theirs = exp2f((theirs - most) * factor);
                    const float their_sum = exchanged(exchange, other, COUNT, PIECES * 4 + 2 + half);
                    largest[half] = most;
                    sum[half] = sum[half] * shrink + their_sum * shrink_theirs;
#pragma unroll
                    for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
                        for (int i = 2 * half; i < 2 * half + 2; ++i)
                            out[piece][i] = out[piece][i] * shrink +
                                            exchanged(exchange, other, COUNT, piece * 4 + i) * shrink_theirs;
                }
            }
        }
    }
    if (group > 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int position = tile * TILE + row_of(2 * half);
        const float total = row_sum(sum[half]);
        Operand* to = mixed + (size_t)sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
        store_row<false>(to, HEADS * HEAD_DIM, position, out, half, 1.0f / total, rotary);
        if (lane_of_thread() % 4 == 0 && position < SEQUENCE)
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
INLINE void load_statistics(const Backward& b, int head, int first_row, float* logs, float* deltas) {
    constexpr int V = HEAD_DIM % (2 * WIDE) == 0 ? WIDE : 1;
    constexpr int ROUNDS = HEAD_DIM / (2 * V);
    const int row = thread_of_group() / 2, part = thread_of_group() % 2, position = first_row + row;
    float sum = 0.0f;
    if (position < SEQUENCE) {
        const size_t at = ((size_t)b.sample * SEQUENCE + position) * HEADS * HEAD_DIM + head * HEAD_DIM + part * V;
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            float outputs[V], slopes[V];
            load(b.mixed + at + round * 2 * V, outputs);
            load(b.mixed_gradient + at + round * 2 * V, slopes);
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

// The first group adds the others' sums to its own.
INLINE void add_groups(float (&sums)[PIECES][4], float* memory) {
    if (GROUPS == 1) return;
    const int group = group_of_thread();
    __syncthreads();
    if (group > 0) {
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
            for (int i = 0; i < 4; ++i) exchanged(memory, group, PIECES * 4, piece * 4 + i) = sums[piece][i];
    }
    __syncthreads();
    if (group == 0) {
        for (int other = 1; other < GROUPS; ++other) {
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
                for (int i = 0; i < 4; ++i) sums[piece][i] += exchanged(memory, other, PIECES * 4, piece * 4 + i);
        }
    }
}

// Shared memory of a block of the backward pass: two tiles for all groups, then two and the statistics of each.
struct Places {
    Operand *first, *second, *third, *fourth;
    float *logs, *deltas;
};

INLINE Places places_of(Operand* memory) {
    const int group = group_of_thread();
    Places places;
    places.first = memory;
    places.second = memory + TILE_ELEMENTS;
    places.third = memory + (2 + 2 * group) * TILE_ELEMENTS;
    places.fourth = places.third + TILE_ELEMENTS;
    places.logs = reinterpret_cast<float*>(memory + (2 + 2 * GROUPS) * TILE_ELEMENTS) + group * 2 * TILE;
    places.deltas = places.logs + TILE;
    return places;
}

// Gradients of a tile of keys and their values: rows of C are keys, columns queries.
INLINE void key_gradients(const Backward& b, int tile, int key_head, Operand* memory) {
    const Places at = places_of(memory);
    Operand *keys = at.first, *values = at.second, *queries = at.third, *gradients = at.fourth;
    const int group = group_of_thread();
    const Operand* rows = b.qkv + (size_t)b.sample * SEQUENCE * COLUMNS;
    const int key_column = (HEADS + key_head) * HEAD_DIM, value_column = key_column + KV_HEADS * HEAD_DIM;
    if (group == 0) load_tile<true>(keys, rows + key_column, COLUMNS, tile * TILE, b.rotary);
    if (group == GROUPS - 1) load_tile<false>(values, rows + value_column, COLUMNS, tile * TILE, b.rotary);
    Rows k, v;
    const float factor = b.scale * LOG2_E;
    float key_sums[PIECES][4] = {}, value_sums[PIECES][4] = {};
    // Every query head of the group with every tile of queries that see these keys.
    const int items = GROUP * (TILES - tile);
    for (int first = 0; first < items; first += GROUPS) {
        const int item = first + group, head = key_head * GROUP + item % GROUP, query_tile = tile + item / GROUP;
        if (first > 0) __syncthreads();
        if (item < items) {
            const Operand* gradient_head =
                b.mixed_gradient + (size_t)b.sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
            const auto query_rows = Fetched<true>::of(rows + head * HEAD_DIM, COLUMNS, query_tile * TILE, b.rotary);
            const auto gradient_rows = Fetched<false>::of(gradient_head, HEADS * HEAD_DIM, query_tile * TILE, b.rotary);
            query_rows.put(queries);
            gradient_rows.put(gradients);
            load_statistics(b, head, query_tile * TILE, at.logs, at.deltas);
        }
        __syncthreads();
        if (first == 0) {
            load_rows(k, keys);
            load_rows(v, values);
        }
        if (item >= items) continue;
        // In the tile on the diagonal no query before a team's rows sees them.
        const int first_pair = query_tile == tile ? row_of_team() / 16 : 0;
#pragma unroll 1
        for (int pair = first_pair; pair < TILE / 16; ++pair) {
            float scores[2][4] = {}, slopes[2][4] = {};
            multiply_rows(scores, k, queries, pair * 16);
            multiply_rows(slopes, v, gradients, pair * 16);
#pragma unroll
            for (int part = 0; part < 2; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int column = column_of(2 * pair + part, i);
                    const bool hidden = query_tile == tile && row_of(i) > column;
                    const float weight = hidden ? 0.0f : exp2f(scores[part][i] * factor - at.logs[column]);
                    scores[part][i] = weight;
                    slopes[part][i] = weight * (slopes[part][i] - at.deltas[column]);
                }
            multiply_columns(value_sums, scores, gradients, pair * 16);
            multiply_columns(key_sums, slopes, queries, pair * 16);
        }
    }
    add_groups(key_sums, reinterpret_cast<float*>(memory));
    add_groups(value_sums, reinterpret_cast<float*>(memory));
    if (group > 0) return;
    Operand* to = b.qkv_gradient + (size_t)b.sample * SEQUENCE * COLUMNS;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int position = tile * TILE + row_of(2 * half);
        store_row<true>(to + key_column, COLUMNS, position, key_sums, half, b.scale, b.rotary);
        store_row<false>(to + value_column, COLUMNS, position, value_sums, half, 1.0f, b.rotary);
    }
}

// Gradients of a tile of queries: rows of C are queries, columns keys.
INLINE void query_gradients(const Backward& b, int tile, int head, Operand* memory) {
    const Places at = places_of(memory);
    Operand *queries = at.first, *gradients = at.second, *keys = at.third, *values = at.fourth;
    // The statistics belong to the rows: the first group's are everybody's.
    float* logs = reinterpret_cast<float*>(memory + (2 + 2 * GROUPS) * TILE_ELEMENTS);
    float* deltas = logs + TILE;
    const int group = group_of_thread();
    const Operand* rows = b.qkv + (size_t)b.sample * SEQUENCE * COLUMNS;
    const Operand* key_head = rows + (HEADS + head / GROUP) * HEAD_DIM;
    const Operand* value_head = key_head + KV_HEADS * HEAD_DIM;
    const Operand* gradient_head = b.mixed_gradient + (size_t)b.sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
    if (group == 0) {
        load_tile<true>(queries, rows + head * HEAD_DIM, COLUMNS, tile * TILE, b.rotary);
        load_statistics(b, head, tile * TILE, logs, deltas);
    }
    if (group == GROUPS - 1) load_tile<false>(gradients, gradient_head, HEADS * HEAD_DIM, tile * TILE, b.rotary);
    Rows q, d;
    const float factor = b.scale * LOG2_E;
    float sums[PIECES][4] = {};
    for (int first_tile = 0; first_tile <= tile; first_tile += GROUPS) {
        const int key_tile = first_tile + group;
        if (first_tile > 0) __syncthreads();
        if (key_tile <= tile) {
            const auto key_rows = Fetched<true>::of(key_head, COLUMNS, key_tile * TILE, b.rotary);
            const auto value_rows = Fetched<false>::of(value_head, COLUMNS, key_tile * TILE, b.rotary);
            key_rows.put(keys);
            value_rows.put(values);
        }
        __syncthreads();
        if (first_tile == 0) {
            load_rows(q, queries);
            load_rows(d, gradients);
        }
        if (key_tile > tile) continue;
        const int pairs = key_tile == tile ? row_of_team() / 16 + 1 : TILE / 16;
#pragma unroll 1
        for (int pair = 0; pair < pairs; ++pair) {
            float scores[2][4] = {}, slopes[2][4] = {};
            multiply_rows(scores, q, keys, pair * 16);
            multiply_rows(slopes, d, values, pair * 16);
#pragma unroll
            for (int part = 0; part < 2; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int row = row_of(i);
                    const bool hidden = key_tile == tile && column_of(2 * pair + part, i) > row;
                    const float weight = hidden ? 0.0f : exp2f(scores[part][i] * factor - logs[row]);
                    slopes[part][i] = weight * (slopes[part][i] - deltas[row]);
                }
            multiply_columns(sums, slopes, keys, pair * 16);
        }
    }
    if (tile > 0) add_groups(sums, reinterpret_cast<float*>(memory));
    if (group > 0) return;
    Operand* to = b.qkv_gradient + (size_t)b.sample * SEQUENCE * COLUMNS + head * HEAD_DIM;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int position = tile * TILE + row_of(2 * half);
        store_row<true>(to, COLUMNS, position, sums, half, b.scale, b.rotary);
    }
}

// A block takes a tile of keys or a tile of queries, so nothing has to be added across blocks: grid (tiles, key heads +
// heads, samples).
KERNEL __launch_bounds__(TILE_THREADS * GROUPS)
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
