// Products on matrix cores, or on plain arithmetic units.
//
// Products are made of pieces that a team multiplies at once, C[16][8] += A[16][STEP] B[STEP][8]. Let g = lane / 4 and
// t = lane % 4. Of C a lane holds the elements (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). Of A it holds the rows
// g and g + 8, of B column g. The columns of A and the rows of B may be counted in any order, as long as both agree. If A
// comes from registers, it has the order of C, (2t, 2t + 1). f32 pieces in memory have (t, t + 4) instead.

// AMD's matrix cores have other pieces, see attention_squares_amd.cu.
#define MFMA 1
#define WMMA 2
#if MATRIX_CORES == MFMA
// Lanes that multiply together: a wavefront.
constexpr int MATRIX_TEAM = 64;
#else
constexpr int MATRIX_TEAM = TEAM;
#endif
#if MATRIX_CORES
constexpr int HEAD_UNIT = 32;
#else
constexpr int HEAD_UNIT = 16;
#endif

// Keeps the loads of a product behind the previous product, if the loads of several would not fit the registers.
INLINE void one_by_one() {
#if defined(TUTOR_HIP)
    if (MATRIX_CORES == 0 || (MATRIX_CORES == WMMA && HEAD_DIM > 64)) asm volatile("" ::: "memory");
#endif
}

constexpr int STEP = OPERAND_BITS == 16 ? 16 : 8;
// Width of a head, padded with zeros to whole pieces.
constexpr int HEAD_WIDE = (HEAD_DIM + HEAD_UNIT - 1) / HEAD_UNIT * HEAD_UNIT;
// Elements from one row of a tile to the next: 16 bytes more than the row spread rows over the banks.
constexpr int ROW = HEAD_WIDE + WIDE;
constexpr int TILE_ELEMENTS = TILE * ROW;
constexpr int STEPS = HEAD_WIDE / STEP;
// Two adjacent pieces of C make this many A.
constexpr int HALVES = 16 / STEP;
constexpr int GROUP = HEADS / KV_HEADS;
constexpr int COLUMNS = (HEADS + 2 * KV_HEADS) * HEAD_DIM;
// Columns of queries and keys, which are kept rotated.
constexpr int ROTATED_COLUMNS = (HEADS + KV_HEADS) * HEAD_DIM;
constexpr int TILES = (SEQUENCE + TILE - 1) / TILE;
constexpr int TILE_THREADS = TILE / 16 * MATRIX_TEAM;
constexpr int THREADS_A_ROW = TILE_THREADS / TILE;
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
// Returns the first row of a tile that the thread's team processes. Every fourth team shares a scheduler. Below the
// diagonal the first rows have much work and the last ones little. Reversing the upper four teams gives each scheduler
// the same work.
INLINE int row_of_team() {
    const int team = thread_of_group() / MATRIX_TEAM;
    return (team < 4 ? team : TILE / 16 + 3 - team) * 16;
}

// Returns a value as it is stored in an f32 tile; bf16 is rounded when it is stored.
INLINE float stored(float value) { return OPERAND_BITS == 32 ? float_of(rounded(value)) : value; }

#if OPERAND_BITS == 16
INLINE unsigned word_at(const Operand* place) { return *reinterpret_cast<const unsigned*>(place); }
INLINE unsigned pair_at(const Operand* low, const Operand* high) {
    return (unsigned)low->bits | ((unsigned)high->bits << 16);
}
#else
INLINE unsigned word_at(const Operand* place) { return bits_of(*place); }
#endif

// Loads four matrices of 8 rows of 16 bytes. A lane names row lane % 8 of matrix lane / 8 and gets word t of row g of
// each. With TURNED and 16-bit elements, it gets rows 2t and 2t + 1 of column g.
#if defined(TUTOR_CUDA) || defined(MATRIX_LOADS)
#define HAS_MATRIX_LOADS 1
template <bool TURNED>
INLINE void load_matrices(unsigned (&word)[4], const Operand* place) {
#if defined(MATRIX_LOADS)
    // For tests on a device without these instructions.
    MATRIX_LOADS(word, place, TURNED);
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
template <int STRIDE = ROW>
INLINE A load_a(const Operand* tile, int first_row, int first_column) {
    const int lane = lane_of_thread();
    A a;
#if HAS_MATRIX_LOADS
    const int row = first_row + lane / 8 % 2 * 8 + lane % 8, column = first_column + lane / 16 * (STEP / 2);
    load_matrices<false>(a.word, tile + row * STRIDE + column);
#else
    constexpr int WORD = STEP / 8;
    const Operand* top = tile + (first_row + lane / 4) * STRIDE + first_column + lane % 4 * WORD;
    const Operand* bottom = top + 8 * STRIDE;
    a.word[0] = word_at(top);
    a.word[1] = word_at(bottom);
    a.word[2] = word_at(top + STEP / 2);
    a.word[3] = word_at(bottom + STEP / 2);
#endif
    return a;
}

// B[k][n] = tile[first_n + n][first_k + k], and the B with the next eight columns.
template <int STRIDE = ROW>
INLINE void load_b_rows(B (&b)[2], const Operand* tile, int first_n, int first_k) {
    const int lane = lane_of_thread();
#if HAS_MATRIX_LOADS
    const int row = first_n + lane / 16 * 8 + lane % 8, column = first_k + lane / 8 % 2 * (STEP / 2);
    unsigned word[4];
    load_matrices<false>(word, tile + row * STRIDE + column);
#pragma unroll
    for (int i = 0; i < 4; ++i) b[i / 2].word[i % 2] = word[i];
#else
    constexpr int WORD = STEP / 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = first_n + i / 2 * 8 + lane / 4, column = first_k + i % 2 * (STEP / 2) + lane % 4 * WORD;
        b[i / 2].word[i % 2] = word_at(tile + row * STRIDE + column);
    }
#endif
}

// B[k][n] = tile[first_k + k][first_n + n], and the B with the next eight columns. Rows are counted as `as_a` counts columns.
template <int STRIDE = ROW>
INLINE void load_b_columns(B (&b)[2], const Operand* tile, int first_k, int first_n) {
    const int lane = lane_of_thread();
#if HAS_MATRIX_LOADS && OPERAND_BITS == 16
    const int row = first_k + lane / 8 % 2 * 8 + lane % 8, column = first_n + lane / 16 * 8;
    unsigned word[4];
    load_matrices<true>(word, tile + row * STRIDE + column);
#pragma unroll
    for (int i = 0; i < 4; ++i) b[i / 2].word[i % 2] = word[i];
#else
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const Operand* place = tile + first_n + i / 2 * 8 + lane / 4;
#if OPERAND_BITS == 16
        place += (first_k + i % 2 * 8 + lane % 4 * 2) * STRIDE;
        b[i / 2].word[i % 2] = pair_at(place, place + STRIDE);
#else
        b[i / 2].word[i % 2] = word_at(place + (first_k + lane % 4 * 2 + i % 2) * STRIDE);
#endif
    }
#endif
}

// As `load_a`, with columns counted as in `as_a`, to match `load_b_columns`.
template <int STRIDE>
INLINE A load_a_for_columns(const Operand* tile, int first_row, int first_column) {
#if OPERAND_BITS == 16
    return load_a<STRIDE>(tile, first_row, first_column);
#else
    const int lane = lane_of_thread();
    const Operand* top = tile + (first_row + lane / 4) * STRIDE + first_column + lane % 4 * 2;
    const Operand* bottom = top + 8 * STRIDE;
    A a;
    a.word[0] = word_at(top);
    a.word[1] = word_at(bottom);
    a.word[2] = word_at(top + 1);
    a.word[3] = word_at(bottom + 1);
    return a;
#endif
}

// Returns part `half` of two adjacent pieces of C as an A.
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
#else
// Without matrix cores, or without rounding: each lane fetches its elements from the lanes that hold them. This is a
// called function, because hundreds of inlined copies would not fit the registers.
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

