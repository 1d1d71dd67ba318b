// A team multiplies its rows of a tile in squares of 16 rows and 16 columns on AMD's matrix cores: MFMA with wavefronts
// of 64 lanes, WMMA with wavefronts of 32. A team is a wavefront, because all of its lanes take part in an instruction.
//
// Squares are computed transposed: the instruction's columns are the team's rows, so that a lane holds elements of one
// row only. With n = lane % 16 and g = lane / 16, a lane has HELD elements of row or column n of both operands, and these
// elements of the result's column n:
//
//                     operands                               result
//   MFMA              k = 4g + i, i < 4                      rows 4g + i, i < 4
//   WMMA of gfx11     k = i, i < 16, the same for each g     rows 2i + g, i < 8
//   WMMA of gfx12     k = 8g + i, i < 8                      rows 8g + i, i < 8
//
// gfx12 numbers k in another order. A product may take k in any order, as long as both operands agree.
//
// The rows of the first operand may be counted in any order. In the order of `spread`, the result of a WMMA of gfx11 has
// rows 8g + i. Results then have the layout that the second operand of the next product needs: on gfx11 together with the
// values that the lane across holds, otherwise directly.

#if MATRIX_CORES == WMMA && !defined(__GFX12__)
#define SAME_HALVES 1
#else
#define SAME_HALVES 0
#endif

constexpr int SQUARE_STEPS = HEAD_WIDE / 16;
constexpr int ROWS_HELD = 1;
constexpr int COLUMNS_HELD = 4;
constexpr int HELD = SAME_HALVES ? 16 : 256 / MATRIX_TEAM;
// Groups of four elements that a lane holds: of a square, and of a row as wide as a head.
constexpr int PARTS = 64 / MATRIX_TEAM;
constexpr int PIECES = HEAD_WIDE / 16 * PARTS;
constexpr int OPERAND_WORDS = HELD * sizeof(Operand) / 4;

struct SquareOperand {
    unsigned word[OPERAND_WORDS];
};

INLINE int matrix_lane() { return threadIdx.x % MATRIX_TEAM; }
INLINE int matrix_column() { return matrix_lane() % 16; }
INLINE int matrix_group() { return matrix_lane() / 16; }
// Returns the row of a square that the lane supplies as row `matrix_column()` of a first operand.
INLINE int spread() { return SAME_HALVES ? matrix_column() / 2 + matrix_column() % 2 * 8 : matrix_column(); }

// Row and column of element i of a lane's piece.
INLINE int row_of(int i) { return row_of_team() + matrix_column(); }
INLINE int column_of(int piece, int i) { return piece / PARTS * 16 + matrix_group() * 4 * PARTS + piece % PARTS * 4 + i; }
// True for one of the lanes that hold a row.
INLINE bool leads_row() { return matrix_group() == 0; }

// Load a tile's numbers per row or per column, for the row of this lane and its columns of a piece.
INLINE void load_of_rows(const float* from, float (&to)[ROWS_HELD]) { to[0] = from[row_of(0)]; }
INLINE void load_of_columns(const float* from, int piece, float (&to)[COLUMNS_HELD]) { load(from + column_of(piece, 0), to); }

// Sums over the lanes that hold a row.
INLINE float row_sum(float value) {
    for (int mask = 16; mask < MATRIX_TEAM; mask *= 2) value += __shfl_xor(value, mask, MATRIX_TEAM);
    return value;
}
INLINE float row_max(float value) {
    for (int mask = 16; mask < MATRIX_TEAM; mask *= 2) value = fmaxf(value, __shfl_xor(value, mask, MATRIX_TEAM));
    return value;
}

typedef float MatrixFloats2 __attribute__((ext_vector_type(2)));
typedef float MatrixFloats4 __attribute__((ext_vector_type(4)));
typedef float MatrixFloats8 __attribute__((ext_vector_type(8)));
typedef short MatrixShorts4 __attribute__((ext_vector_type(4)));
typedef short MatrixShorts8 __attribute__((ext_vector_type(8)));
typedef short MatrixShorts16 __attribute__((ext_vector_type(16)));

// Multiplies a square, PARTS pieces from `c` on: c += a b, transposed.
INLINE void multiply_square(float (*c)[4], const SquareOperand& a, const SquareOperand& b) {
#if MATRIX_CORES == WMMA
    MatrixFloats8 sum = {c[0][0], c[0][1], c[0][2], c[0][3], c[1][0], c[1][1], c[1][2], c[1][3]};
#if SAME_HALVES
    sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(MatrixShorts16, a),
                                                      __builtin_bit_cast(MatrixShorts16, b), sum);
#else
    sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(__builtin_bit_cast(MatrixShorts8, a),
                                                            __builtin_bit_cast(MatrixShorts8, b), sum);
#endif
#else
    MatrixFloats4 sum = {c[0][0], c[0][1], c[0][2], c[0][3]};
#if OPERAND_BITS == 16
    sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(MatrixShorts4, a),
                                                    __builtin_bit_cast(MatrixShorts4, b), sum, 0, 0, 0);
#elif TENSOR_CORES && defined(__gfx942__)
    // An instruction may take any elements of k, as long as both operands agree.
#pragma unroll
    for (int i = 0; i < HELD; i += 2) {
        const MatrixFloats2 of_a = {float_of(a.word[i]), float_of(a.word[i + 1])};
        const MatrixFloats2 of_b = {float_of(b.word[i]), float_of(b.word[i + 1])};
        sum = __builtin_amdgcn_mfma_f32_16x16x8_xf32(of_a, of_b, sum, 0, 0, 0);
    }
#else
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(float_of(a.word[i]), float_of(b.word[i]), sum, 0, 0, 0);
#endif
#endif
#pragma unroll
    for (int i = 0; i < 4 * PARTS; ++i) c[i / 4][i % 4] = sum[i];
}

// Loads an operand from a row of a tile: the 16 elements from column first_k on.
INLINE SquareOperand load_operand(const Operand* tile, int row, int first_k) {
    SquareOperand operand;
    const Operand* place = tile + row * ROW + first_k + (SAME_HALVES ? 0 : matrix_group() * HELD);
    if constexpr (OPERAND_WORDS == 2) {
        const Words2 words = *reinterpret_cast<const Words2*>(place);
        operand.word[0] = words.word[0];
        operand.word[1] = words.word[1];
    } else {
        load(reinterpret_cast<const unsigned*>(place), operand.word);
    }
    return operand;
}

// Converts a square into the second operand of the next product.
INLINE SquareOperand as_operand(const float (&c)[PARTS][4]) {
    SquareOperand operand;
#if SAME_HALVES
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const unsigned own = pack_bf16(c[i / 2][i % 2 * 2], c[i / 2][i % 2 * 2 + 1]);
        const unsigned other = __shfl_xor(own, 16, MATRIX_TEAM);
        operand.word[i] = matrix_group() == 0 ? own : other;
        operand.word[4 + i] = matrix_group() == 0 ? other : own;
    }
#elif OPERAND_BITS == 16
#pragma unroll
    for (int i = 0; i < OPERAND_WORDS; ++i) operand.word[i] = pack_bf16(c[i / 2][i % 2 * 2], c[i / 2][i % 2 * 2 + 1]);
#else
#pragma unroll
    for (int i = 0; i < 4; ++i) operand.word[i] = bits_of(c[0][i]);
#endif
    return operand;
}

// Loads first operands of two neighbouring squares, whose columns are the tile's rows first_k... Lane n has the columns
// first_column + 2 spread() and the next one, which lie in one word or two.
INLINE void load_columns(SquareOperand (&operand)[2], const Operand* tile, int first_k, int first_column) {
    const int first_row = first_k + (SAME_HALVES ? 0 : matrix_group() * HELD);
    const Operand* place = tile + first_row * ROW + first_column + 2 * spread();
#if OPERAND_BITS == 16
#pragma unroll
    for (int i = 0; i < OPERAND_WORDS; ++i) {
        const unsigned low = word_at(place + 2 * i * ROW), high = word_at(place + (2 * i + 1) * ROW);
        operand[0].word[i] = (low & 0xffffu) | (high << 16);
        operand[1].word[i] = (low >> 16) | (high & 0xffff0000u);
    }
#else
#pragma unroll
    for (int i = 0; i < OPERAND_WORDS; ++i) {
        const Words2 words = *reinterpret_cast<const Words2*>(place + i * ROW);
        operand[0].word[i] = words.word[0];
        operand[1].word[i] = words.word[1];
    }
#endif
}

// Stores a row's sums as `multiply_columns` leaves them. Rotates them back if they belong to a query or key. A lane has
// RUN adjacent columns of every two squares, the even ones in the first.
template <bool ROTATED>
INLINE void store_row(Operand* head, int row_length, int position, const float (&c)[PIECES][4], int, float factor,
                      const float* rotary) {
    if (position >= SEQUENCE) return;
    constexpr int RUN = 8 * PARTS, V = HEAD_DIM % 8 == 0 ? 8 : 2, COUNT = HEAD_WIDE * 16 / MATRIX_TEAM;
    auto column_at = [](int at) { return at / RUN * 32 + matrix_group() * RUN + at % RUN; };
    // All angles are loaded before the first store, because the compiler could not move a load past it.
    float angles[ROTATED ? COUNT / V : 1][V];
    if (ROTATED) {
#pragma unroll
        for (int at = 0; at < COUNT; at += V) {
            if (column_at(at) < HEAD_DIM)
                load(rotary + (size_t)position * HEAD_DIM + column_at(at), angles[ROTATED ? at / V : 0]);
        }
    }
#pragma unroll
    for (int at = 0; at < COUNT; at += V) {
        if (column_at(at) >= HEAD_DIM) continue;
        float values[V];
#pragma unroll
        for (int i = 0; i < V; i += 2) {
            const int element = (at + i) % RUN / 2, piece = (at + i) / RUN * 2 * PARTS + element / 4;
            values[i] = c[piece][element % 4] * factor;
            values[i + 1] = c[piece + PARTS][element % 4] * factor;
            if (ROTATED) {
                const float cosine = angles[ROTATED ? at / V : 0][i], sine = angles[ROTATED ? at / V : 0][i + 1];
                const float even = values[i];
                values[i] = even * cosine + values[i + 1] * sine;
                values[i + 1] = values[i + 1] * cosine - even * sine;
            }
        }
        store(head + (size_t)position * row_length + column_at(at), values);
    }
}

// A team's rows of a tile: in registers if heads are narrow, otherwise loaded for every product.
constexpr bool KEPT = SQUARE_STEPS * OPERAND_WORDS <= 32;
constexpr int KEPT_STEPS = KEPT ? SQUARE_STEPS : 1;

struct Rows {
    const Operand* tile;
    SquareOperand operand[KEPT_STEPS];
};

INLINE SquareOperand operand_of(const Rows& rows, int step) {
    return KEPT ? rows.operand[step % KEPT_STEPS] : load_operand(rows.tile, row_of(0), step * 16);
}

INLINE void load_rows(Rows& rows, const Operand* tile) {
    rows.tile = tile;
    if (KEPT) {
#pragma unroll
        for (int step = 0; step < KEPT_STEPS; ++step) rows.operand[step] = load_operand(tile, row_of(0), step * 16);
    }
}

// c += rows times rows first_n.. of the tile, over the width of a head.
INLINE void multiply_rows(float (&c)[PARTS][4], const Rows& rows, const Operand* tile, int first_n) {
#pragma unroll
    for (int step = 0; step < SQUARE_STEPS; ++step) {
        one_by_one();
        multiply_square(c, load_operand(tile, first_n + spread(), step * 16), operand_of(rows, step));
    }
}

// As `multiply_rows`, for two independent products: neither has to wait for the other.
INLINE void multiply_both(float (&c)[PARTS][4], const Rows& rows, const Operand* tile, float (&d)[PARTS][4],
                          const Rows& other_rows, const Operand* other_tile, int first_n) {
#pragma unroll
    for (int step = 0; step < SQUARE_STEPS; ++step) {
        one_by_one();
        multiply_square(c, load_operand(tile, first_n + spread(), step * 16), operand_of(rows, step));
        multiply_square(d, load_operand(other_tile, first_n + spread(), step * 16), operand_of(other_rows, step));
    }
}

// sums += c tile, where the 16 columns of c are rows first_k.. of the tile.
INLINE void multiply_columns(float (&sums)[PIECES][4], const float (&c)[PARTS][4], const Operand* tile, int first_k) {
    const SquareOperand b = as_operand(c);
#pragma unroll
    for (int square = 0; square < HEAD_WIDE / 16; square += 2) {
        SquareOperand a[2];
        one_by_one();
        load_columns(a, tile, first_k, square * 16);
        multiply_square(&sums[square * PARTS], a[0], b);
        multiply_square(&sums[(square + 1) * PARTS], a[1], b);
    }
}

