// Building blocks of attention in bf16 on Hopper's tensor cores, which whole warpgroups use with operands in shared
// memory. A warpgroup has 64 rows and processes 64 rows of the other side at a time, while the next ones are being
// loaded. While one of a block's two warpgroups computes powers of two, the other multiplies.

constexpr int WARPGROUP = 128, WARPGROUPS = 2;
constexpr int SIDE = 64;
constexpr int SIDES = (SEQUENCE + SIDE - 1) / SIDE;
// A plate is 64 rows of a head in shared memory. The 64 columns of a row are adjacent, rows follow each other, then the
// next 64 columns follow.
constexpr int SLAB = SIDE * 64;
constexpr int PLATE = HEAD_DIM / 64 * SLAB;
constexpr int CHUNKS = HEAD_DIM / 8;
// Numbers that a thread holds of a product of 64 rows and a head's columns.
constexpr int HELD = HEAD_DIM / 2;
// Distance between rows that are about to be stored: eight more than a row spread the rows over the banks.
constexpr int STORED_ROW = HEAD_DIM + 8;
// Pairs of neighbouring sides of a head's queries, one side for each warpgroup.
constexpr int PLACES = (SIDES + WARPGROUPS - 1) / WARPGROUPS;

// The value is the same for all lanes of a team. The exchange makes that visible to the compiler.
INLINE int warpgroup_of_thread() { return SHUFFLE(threadIdx.x / WARPGROUP, 0); }
INLINE int thread_of_warpgroup() { return threadIdx.x % WARPGROUP; }
INLINE void warpgroup_barrier() {
    if (warpgroup_of_thread() == 0) asm volatile("bar.sync 1, %0;" : : "n"(WARPGROUP) : "memory");
    else asm volatile("bar.sync 2, %0;" : : "n"(WARPGROUP) : "memory");
}

// Some samples whose data fits the cache are processed together. The grid has blocks for each of a sample's `count`.
INLINE int samples_together(int count) { return gridDim.x / count; }
INLINE int sample_of_block(int count) {
    return blockIdx.y * samples_together(count) + blockIdx.x % samples_together(count);
}
INLINE int block_of_sample(int count) { return blockIdx.x / samples_together(count); }

INLINE unsigned shared_address(const void* place) { return (unsigned)__cvta_generic_to_shared(place); }

// Returns the shared memory where plates begin: their pattern repeats after 1024 bytes.
INLINE Operand* plates_of(Words4* memory) {
    return reinterpret_cast<Operand*>(memory) + (0u - shared_address(memory)) % 1024 / sizeof(Operand);
}

// Returns eight columns of a row of a plate. Rows are permuted over eight places, so that neither rows nor columns share banks.
INLINE Operand* place_in(Operand* plate, int row, int chunk) {
    return plate + chunk / 8 * SLAB + row * 64 + ((chunk ^ row) & 7) * 8;
}

// Returns whether a position is inside the sequence, since the last side may reach past its end.
INLINE bool in_sequence(int position) { return SEQUENCE % SIDE == 0 || position < SEQUENCE; }

// Copies rows first_row.. of a head by `THREADS` threads, of which this is number `thread`. Rows after the end of the
// sequence become zero and are not read. Rows are permuted alike in every round, so each address is the first one plus
// a constant.
template <int THREADS, int ROW_LENGTH>
INLINE void copy_plate(Operand* plate, const Operand* head, int first_row, int thread) {
    constexpr int ROWS = THREADS / CHUNKS;
    const int row = thread / CHUNKS, chunk = thread % CHUNKS;
    const unsigned to = shared_address(place_in(plate, row, chunk));
    const Operand* from = head + (size_t)(first_row + row) * ROW_LENGTH + chunk * 8;
#pragma unroll
    for (int first = 0; first < SIDE; first += ROWS) {
        const int bytes = in_sequence(first_row + first + row) ? 16 : 0;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(to + first * 64 * (int)sizeof(Operand)), "l"(from + (size_t)first * ROW_LENGTH), "r"(bytes)
                     : "memory");
    }
}
INLINE void end_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until this thread's copies and stores are complete. The tensor cores see them once all threads have passed a barrier.
INLINE void wait_for_copies() {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Describes a matrix to a product: its address, the distances to the next 64 columns and the next 8 rows, and that rows
// are permuted.
INLINE unsigned long long described(const Operand* matrix) {
    constexpr unsigned long long BESIDE = SLAB * 2 / 16, BELOW = 1024 / 16, TURNED = 1ull << 62;
    return (unsigned long long)((shared_address(matrix) & 0x3ffff) >> 4) | BESIDE << 16 | BELOW << 32 | TURNED;
}

#define FOUR(c, i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define SIXTEEN(c, i) FOUR(c, i), FOUR(c, i + 4), FOUR(c, i + 8), FOUR(c, i + 12)

// C[64][64] (+)= A[64][16] B[64][16]^T, where the columns of both are adjacent.
template <bool ADDED>
INLINE void multiply_slabs(float (&c)[32], unsigned long long a, unsigned long long b) {
    asm volatile(
        "{\n.reg .pred added;\nsetp.ne.b32 added, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, added, 1, 1, 0, 0;\n}"
        : SIXTEEN(c, 0), SIXTEEN(c, 16)
        : "l"(a), "l"(b), "n"((int)ADDED));
}

// C[64][head] += A[64][16] B[16][head], with A in registers.
INLINE void multiply_kept(float (&c)[32], const unsigned (&a)[4], unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
        : SIXTEEN(c, 0), SIXTEEN(c, 16)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
INLINE void multiply_kept(float (&c)[64], const unsigned (&a)[4], unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
        : SIXTEEN(c, 0), SIXTEEN(c, 16), SIXTEEN(c, 32), SIXTEEN(c, 48)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

INLINE void before_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
INLINE void start_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until all started products are done.
template <int COUNT>
INLINE void wait_for_products(float (&c)[COUNT]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(c[i]) : : "memory");
}

// C = A B^T over the width of a head.
INLINE void multiply_plates(float (&c)[32], const Operand* a, const Operand* b) {
    const unsigned long long left = described(a), right = described(b);
#pragma unroll
    for (int step = 0; step < HEAD_DIM / 16; ++step) {
        const unsigned at = (step / 4 * SLAB * 2 + step % 4 * 32) / 16;
        if (step == 0) multiply_slabs<false>(c, left + at, right + at);
        else multiply_slabs<true>(c, left + at, right + at);
    }
}

// C += A B, with the 64 columns of A in registers, rounded to bf16.
INLINE void multiply_plate(float (&c)[HELD], const unsigned (&a)[4][4], const Operand* b) {
    const unsigned long long right = described(b);
#pragma unroll
    for (int step = 0; step < SIDE / 16; ++step) multiply_kept(c, a[step], right + step * 128);
}

INLINE void as_operand(unsigned (&a)[4][4], const float (&c)[32]) {
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
        for (int i = 0; i < 4; ++i) a[step][i] = pack_bf16(c[step * 8 + i * 2], c[step * 8 + i * 2 + 1]);
}

// Stores go through shared memory, so that neighbouring threads store adjacent columns: each thread four columns of some rows.
constexpr int STORED_ROWS = WARPGROUP * 4 / HEAD_DIM, STORES = SIDE / STORED_ROWS;
INLINE int stored_row(int index) { return index * STORED_ROWS + thread_of_warpgroup() / (HEAD_DIM / 4); }
INLINE int stored_column() { return thread_of_warpgroup() % (HEAD_DIM / 4) * 4; }

// Loads the cosines and sines for this thread's later stores early.
INLINE void load_angles(float (&angles)[STORES][4], const float* rotary, int first_row) {
#pragma unroll
    for (int i = 0; i < STORES; ++i) {
        const int position = first_row + stored_row(i);
        if (in_sequence(position)) load(rotary + (size_t)position * HEAD_DIM + stored_column(), angles[i]);
    }
}

// Stores 64 rows of a head, rotated back if `ROTATED`.
template <bool ROTATED, int ROW_LENGTH>
INLINE void store_rows(Operand* head, int first_row, const float (&c)[HELD], float factor, float* memory,
                       const float (&angles)[STORES][4]) {
    const int lane = lane_of_thread();
    float* mine = memory + (thread_of_warpgroup() / TEAM * 16 + lane / 4) * STORED_ROW + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < HELD; i += 2) {
        Words2 pair;
        pair.word[0] = bits_of(c[i] * factor);
        pair.word[1] = bits_of(c[i + 1] * factor);
        *reinterpret_cast<Words2*>(mine + i / 2 % 2 * 8 * STORED_ROW + i / 4 * 8) = pair;
    }
    warpgroup_barrier();
#pragma unroll
    for (int i = 0; i < STORES; ++i) {
        float values[4];
        load(memory + stored_row(i) * STORED_ROW + stored_column(), values);
        if (ROTATED) {
#pragma unroll
            for (int j = 0; j < 4; j += 2) {
                const float even = values[j];
                values[j] = even * angles[i][j] + values[j + 1] * angles[i][j + 1];
                values[j + 1] = values[j + 1] * angles[i][j] - even * angles[i][j + 1];
            }
        }
        const int position = first_row + stored_row(i);
        if (in_sequence(position)) store(head + (size_t)position * ROW_LENGTH + stored_column(), values);
    }
}
