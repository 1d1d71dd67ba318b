// Tiles in shared memory, which both attention kernels use.

// A thread's share of a tile on its way from device memory. All of it is requested before the thread waits for any of it.
template <bool ROTATED>
struct Fetched {
    static constexpr int V = HEAD_DIM % WIDE == 0 ? WIDE : 2;
    static constexpr int PER_ROW = HEAD_WIDE / V;
    static constexpr int ROUNDS = (TILE * PER_ROW + TILE_THREADS - 1) / TILE_THREADS;

    static constexpr int WORDS = V * sizeof(Operand) / 4;

    // Values in the order of memory.
    unsigned values[ROUNDS][WORDS];
    float angles[ROTATED ? ROUNDS : 1][V];

    // Loads rows first_row.. of one head; zeros after the end of the sequence and outside the head.
    static __device__ __forceinline__ Fetched of(const Operand* head, int row_length, int first_row,
                                                 const float* rotary = nullptr) {
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

    // Stores into a tile, and, rotated for the backward pass, into a head of `kept`.
    __device__ __forceinline__ void put(Operand* tile, int first_row = 0, Operand* kept = nullptr) const {
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
            if (row >= TILE) continue;
            store(tile + row * ROW + column, turned);
            if (kept && first_row + row < SEQUENCE && column < HEAD_DIM)
                store(kept + (size_t)(first_row + row) * ROTATED_COLUMNS + column, turned);
        }
    }
};

template <bool ROTATED>
INLINE void load_tile(Operand* tile, const Operand* head, int row_length, int first_row, const float* rotary = nullptr,
                      Operand* kept = nullptr) {
    Fetched<ROTATED>::of(head, row_length, first_row, rotary).put(tile, first_row, kept);
}

// Returns a place for one number of each thread of a group other than the first, without bank conflicts.
INLINE float& exchanged(float* memory, int group, int count, int index) {
    return memory[((group - 1) * count + index) * TILE_THREADS + thread_of_group()];
}

