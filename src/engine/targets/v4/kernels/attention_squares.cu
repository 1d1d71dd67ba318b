// A team multiplies its rows of a tile in squares of 16 rows and 16 columns. A square is two adjacent pieces of C, of
// which a lane holds two columns of two rows.

constexpr int PIECES = HEAD_WIDE / 8;
constexpr int PARTS = 2;
constexpr int ROWS_HELD = 2;
constexpr int COLUMNS_HELD = 4 / ROWS_HELD;

// True for one of the lanes that hold a row.
INLINE bool leads_row() { return lane_of_thread() % 4 == 0; }

// Stores the two elements of one row that a lane holds of each piece. Rotates them back if they belong to a query or key.
template <bool ROTATED>
INLINE void store_row(Operand* head, int row_length, int position, const float (&c)[PIECES][4], int half, float factor,
                      const float* rotary) {
    if (position >= SEQUENCE) return;
    const int t = lane_of_thread() % 4;
    // All angles are loaded before the first store, because the compiler could not move a load past it.
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

// Sums over the four lanes that hold a row of C.
INLINE float row_sum(float value) {
    value += SHUFFLE_XOR(value, 1);
    return value + SHUFFLE_XOR(value, 2);
}
INLINE float row_max(float value) {
    value = fmaxf(value, SHUFFLE_XOR(value, 1));
    return fmaxf(value, SHUFFLE_XOR(value, 2));
}

// A team's rows of a tile: in registers if heads are narrow, otherwise loaded for every product.
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

// C += A B over the width of a head, for two adjacent pieces of C.
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

// Row and column of element i of a lane's piece of C.
INLINE int row_of(int i) { return row_of_team() + lane_of_thread() / 4 + i / 2 * 8; }
INLINE int column_of(int piece, int i) { return piece * 8 + lane_of_thread() % 4 * 2 + i % 2; }

// Load a tile's numbers per row or per column, for the rows of this lane and its columns of a piece.
INLINE void load_of_rows(const float* from, float (&to)[ROWS_HELD]) {
    to[0] = from[row_of(0)];
    to[1] = from[row_of(2)];
}
INLINE void load_of_columns(const float* from, int piece, float (&to)[COLUMNS_HELD]) { load_pair(from + column_of(piece, 0), to); }

// C += A B as in `multiply_rows`, for two independent products: neither has to wait for the other.
INLINE void multiply_both(float (&c)[2][4], const Rows& rows, const Operand* tile, float (&d)[2][4],
                          const Rows& other_rows, const Operand* other_tile, int first_n) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        const A a = KEPT ? rows.a[step % KEPT_STEPS] : load_a(rows.tile, row_of_team(), step * STEP);
        const A e = KEPT ? other_rows.a[step % KEPT_STEPS] : load_a(other_rows.tile, row_of_team(), step * STEP);
        B b[2], f[2];
        one_by_one();
        load_b_rows(b, tile, first_n, step * STEP);
        load_b_rows(f, other_tile, first_n, step * STEP);
        multiply(c[0], a, b[0]);
        multiply(d[0], e, f[0]);
        multiply(c[1], a, b[1]);
        multiply(d[1], e, f[1]);
    }
}

