// The backward pass of attention. It computes the weights again from the log sums of the forward pass; queries and keys
// are already rotated.

// The grid is small. With narrow heads a compute unit must hold 512 threads at once, or some blocks would wait for a
// second turn. The sums of wide heads need the registers.
constexpr int BACKWARD_THREADS = TILE_THREADS * GROUPS;
#if defined(TUTOR_CUDA)
constexpr int THREADS_AT_ONCE = HEAD_WIDE <= 64 && TENSOR_CORES ? 512 : 256;
#define BACKWARD_BOUNDS \
    __launch_bounds__(BACKWARD_THREADS, BACKWARD_THREADS < THREADS_AT_ONCE ? THREADS_AT_ONCE / BACKWARD_THREADS : 1)
#else
#define BACKWARD_BOUNDS __launch_bounds__(BACKWARD_THREADS)
#endif

struct Backward {
    const Operand *qkv, *rotated, *mixed, *mixed_gradient;
    const float *rotary, *log_sums;
    Operand* qkv_gradient;
    float scale;
    int sample;
};

// Loads log sums (in powers of two) and sums of output times gradient of a tile's queries. A row has THREADS_A_ROW
// threads. After the end of the sequence the log sum is infinite, which makes every weight zero.
INLINE void load_statistics(const Backward& b, int head, int first_row, float* logs, float* deltas) {
    constexpr int V = HEAD_DIM % (THREADS_A_ROW * WIDE) == 0 ? WIDE : 1;
    constexpr int SPAN = THREADS_A_ROW * V, ROUNDS = (HEAD_DIM + SPAN - 1) / SPAN;
    const int row = thread_of_group() / THREADS_A_ROW, part = thread_of_group() % THREADS_A_ROW, position = first_row + row;
    float sum = 0.0f;
    if (position < SEQUENCE) {
        const size_t at = ((size_t)b.sample * SEQUENCE + position) * HEADS * HEAD_DIM + head * HEAD_DIM + part * V;
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            float outputs[V], slopes[V];
            if (HEAD_DIM % SPAN != 0 && part * V + round * SPAN >= HEAD_DIM) continue;
            load(b.mixed + at + round * SPAN, outputs);
            load(b.mixed_gradient + at + round * SPAN, slopes);
#pragma unroll
            for (int i = 0; i < V; ++i) sum += outputs[i] * slopes[i];
        }
    }
#pragma unroll
    for (int mask = 1; mask < THREADS_A_ROW; mask *= 2) sum += SHUFFLE_XOR(sum, mask);
    if (part == 0) {
        deltas[row] = sum;
        const size_t at = ((size_t)b.sample * HEADS + head) * SEQUENCE + position;
        logs[row] = position < SEQUENCE ? b.log_sums[at] * LOG2_E : INFINITY;
    }
}

// The first group adds the sums of the other groups to its own.
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

// Shared memory of a block in the backward pass: two tiles for all groups, then two more and the statistics for each group.
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

// Computes gradients of a tile of keys and their values: rows of C are keys, columns are queries.
INLINE void key_gradients(const Backward& b, int tile, int key_head, Operand* memory) {
    const Places at = places_of(memory);
    Operand *keys = at.first, *values = at.second, *queries = at.third, *gradients = at.fourth;
    const int group = group_of_thread();
    const Operand* rows = b.qkv + (size_t)b.sample * SEQUENCE * COLUMNS;
    const int key_column = (HEADS + key_head) * HEAD_DIM, value_column = key_column + KV_HEADS * HEAD_DIM;
    const Operand* turned = b.rotated + (size_t)b.sample * SEQUENCE * ROTATED_COLUMNS;
    if (group == 0) load_tile<false>(keys, turned + key_column, ROTATED_COLUMNS, tile * TILE);
    if (group == GROUPS - 1) load_tile<false>(values, rows + value_column, COLUMNS, tile * TILE);
    Rows k, v;
    const float factor = b.scale * LOG2_E;
    float key_sums[PIECES][4] = {}, value_sums[PIECES][4] = {};
    // The items are every query head of the group with every tile of queries that see these keys.
    const int items = GROUP * (TILES - tile);
    for (int first = 0; first < items; first += GROUPS) {
        const int item = first + group, head = key_head * GROUP + item % GROUP, query_tile = tile + item / GROUP;
        if (first > 0) __syncthreads();
        if (item < items) {
            const Operand* gradient_head =
                b.mixed_gradient + (size_t)b.sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
            const auto query_rows = Fetched<false>::of(turned + head * HEAD_DIM, ROTATED_COLUMNS, query_tile * TILE);
            const auto gradient_rows = Fetched<false>::of(gradient_head, HEADS * HEAD_DIM, query_tile * TILE);
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
        // In the tile on the diagonal, queries before a team's rows do not see its keys.
        const int first_pair = query_tile == tile ? row_of_team() / 16 : 0;
#pragma unroll 1
        for (int pair = first_pair; pair < TILE / 16; ++pair) {
            float scores[PARTS][4] = {}, slopes[PARTS][4] = {}, logs[PARTS][COLUMNS_HELD], deltas[PARTS][COLUMNS_HELD];
#pragma unroll
            for (int part = 0; part < PARTS; ++part) {
                load_of_columns(at.logs, PARTS * pair + part, logs[part]);
                load_of_columns(at.deltas, PARTS * pair + part, deltas[part]);
            }
            multiply_both(scores, k, queries, slopes, v, gradients, pair * 16);
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const bool hidden = query_tile == tile && row_of(i) > column_of(PARTS * pair + part, i);
                    // A hidden score needs no branch: 2 to the power of minus infinity is zero.
                    const float power = hidden ? -INFINITY : scores[part][i] * factor - logs[part][i % COLUMNS_HELD];
                    const float weight = power_of_two(power);
                    scores[part][i] = weight;
                    slopes[part][i] = weight * (slopes[part][i] - deltas[part][i % COLUMNS_HELD]);
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
    for (int half = 0; half < ROWS_HELD; ++half) {
        const int position = tile * TILE + row_of(half * COLUMNS_HELD);
        store_row<true>(to + key_column, COLUMNS, position, key_sums, half, b.scale, b.rotary);
        store_row<false>(to + value_column, COLUMNS, position, value_sums, half, 1.0f, b.rotary);
    }
}

// Computes gradients of a tile of queries: rows of C are queries, columns are keys.
INLINE void query_gradients(const Backward& b, int tile, int head, Operand* memory) {
    const Places at = places_of(memory);
    Operand *queries = at.first, *gradients = at.second, *keys = at.third, *values = at.fourth;
    // The statistics belong to the rows, so all groups use those of the first.
    float* logs = reinterpret_cast<float*>(memory + (2 + 2 * GROUPS) * TILE_ELEMENTS);
    float* deltas = logs + TILE;
    const int group = group_of_thread();
    const Operand* turned = b.rotated + (size_t)b.sample * SEQUENCE * ROTATED_COLUMNS;
    const Operand* key_head = turned + (HEADS + head / GROUP) * HEAD_DIM;
    const Operand* value_head = b.qkv + (size_t)b.sample * SEQUENCE * COLUMNS + (HEADS + KV_HEADS + head / GROUP) * HEAD_DIM;
    const Operand* gradient_head = b.mixed_gradient + (size_t)b.sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
    if (group == 0) {
        load_tile<false>(queries, turned + head * HEAD_DIM, ROTATED_COLUMNS, tile * TILE);
        load_statistics(b, head, tile * TILE, logs, deltas);
    }
    if (group == GROUPS - 1) load_tile<false>(gradients, gradient_head, HEADS * HEAD_DIM, tile * TILE);
    Rows q, d;
    const float factor = b.scale * LOG2_E;
    float sums[PIECES][4] = {};
    for (int first_tile = 0; first_tile <= tile; first_tile += GROUPS) {
        const int key_tile = first_tile + group;
        if (first_tile > 0) __syncthreads();
        if (key_tile <= tile) {
            const auto key_rows = Fetched<false>::of(key_head, ROTATED_COLUMNS, key_tile * TILE);
            const auto value_rows = Fetched<false>::of(value_head, COLUMNS, key_tile * TILE);
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
        float row_logs[ROWS_HELD], row_deltas[ROWS_HELD];
        load_of_rows(logs, row_logs);
        load_of_rows(deltas, row_deltas);
#pragma unroll 1
        for (int pair = 0; pair < pairs; ++pair) {
            float scores[PARTS][4] = {}, slopes[PARTS][4] = {};
            multiply_both(scores, q, keys, slopes, d, values, pair * 16);
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const bool hidden = key_tile == tile && column_of(PARTS * pair + part, i) > row_of(i);
                    const float power = hidden ? -INFINITY : scores[part][i] * factor - row_logs[i / COLUMNS_HELD];
                    slopes[part][i] = power_of_two(power) * (slopes[part][i] - row_deltas[i / COLUMNS_HELD]);
                }
            multiply_columns(sums, slopes, keys, pair * 16);
        }
    }
    if (tile > 0) add_groups(sums, reinterpret_cast<float*>(memory));
    if (group > 0) return;
    Operand* to = b.qkv_gradient + (size_t)b.sample * SEQUENCE * COLUMNS + head * HEAD_DIM;
#pragma unroll
    for (int half = 0; half < ROWS_HELD; ++half) {
        const int position = tile * TILE + row_of(half * COLUMNS_HELD);
        store_row<true>(to, COLUMNS, position, sums, half, b.scale, b.rotary);
    }
}

// A block takes a tile of keys or a tile of queries, so no sums cross blocks: grid (tiles, key heads + heads, samples).
KERNEL BACKWARD_BOUNDS
attention_backward(const Operand* qkv, const float* rotary, const Operand* rotated, const Operand* mixed, const float* log_sums,
                   const Operand* mixed_gradient, Operand* qkv_gradient, float scale) {
    wait_for_earlier();
    DYNAMIC_SHARED(Operand, memory);
    Backward b;
    b.qkv = qkv;
    b.rotated = rotated;
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
