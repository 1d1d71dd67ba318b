// What both attention kernels are made of: tiles in shared memory, and a team's rows of them.

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
    // All of them before the first store, behind which the compiler could not move a load.
    float angles[ROTATED ? PIECES : 1][2];
    if (ROTATED) {
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece) {
            const int column = piece * 8 + 2 * t;
            if (column < HEAD_DIM) load_pair(rotary + (size_t)position * HEAD_DIM + column, angles[ROTATED ? piece : 0]);
        }
    }
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) {
        const int column = piece * 8 + 2 * t;
        if (column < HEAD_DIM) {
            float pair[2] = {c[piece][2 * half] * factor, c[piece][2 * half + 1] * factor};
            if (ROTATED) {
                const float cosine = angles[ROTATED ? piece : 0][0], sine = angles[ROTATED ? piece : 0][1];
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

