// Causal attention over tiles of TILE queries and TILE keys, with scores in registers. Rotation happens while tiles are
// loaded, its inverse while gradients are stored. Rotated values are kept for the backward pass. Query heads that share
// a key head read the same one; nothing is repeated.
// A block has GROUPS groups of threads. All work on the same rows, each on other tiles; at the end the first group adds
// the sums.

// A block takes a tile of queries of one head: grid (tiles, heads, samples).
KERNEL __launch_bounds__(TILE_THREADS * GROUPS)
attention(const Operand* qkv, const float* rotary, Operand* rotated, Operand* mixed, float* log_sums, float scale) {
    wait_for_earlier();
    DYNAMIC_SHARED(Operand, memory);
    const int group = group_of_thread();
    Operand *queries = memory, *keys = memory + (1 + 2 * group) * TILE_ELEMENTS, *values = keys + TILE_ELEMENTS;
    // The longest rows come first, so that the short ones fill the end.
    const int tile = gridDim.x - 1 - blockIdx.x, head = blockIdx.y, sample = blockIdx.z;
    const Operand* rows = qkv + (size_t)sample * SEQUENCE * COLUMNS;
    const Operand* key_head = rows + (HEADS + head / GROUP) * HEAD_DIM;
    const Operand* value_head = key_head + KV_HEADS * HEAD_DIM;
    Operand* turned = rotated + (size_t)sample * SEQUENCE * ROTATED_COLUMNS;
    if (group == 0)
        load_tile<true>(queries, rows + head * HEAD_DIM, COLUMNS, tile * TILE, rotary, turned + head * HEAD_DIM);

    const float factor = scale * LOG2_E;
    Rows q;
    float out[PIECES][4] = {};
    float largest[ROWS_HELD], sum[ROWS_HELD] = {};
#pragma unroll
    for (int half = 0; half < ROWS_HELD; ++half) largest[half] = -INFINITY;
    for (int first_tile = 0; first_tile <= tile; first_tile += GROUPS) {
        const int key_tile = first_tile + group;
        if (first_tile > 0) __syncthreads();
        if (key_tile <= tile) {
            const auto key_rows = Fetched<true>::of(key_head, COLUMNS, key_tile * TILE, rotary);
            const auto value_rows = Fetched<false>::of(value_head, COLUMNS, key_tile * TILE, rotary);
            // One of the heads that share keys stores the rotated keys of its own rows.
            const bool keeps = key_tile == tile && head % GROUP == 0;
            key_rows.put(keys, key_tile * TILE, keeps ? turned + (HEADS + head / GROUP) * HEAD_DIM : nullptr);
            value_rows.put(values);
        }
        __syncthreads();
        if (first_tile == 0) {
            load_rows(q, queries);
        }
        if (key_tile > tile) continue;
        // In the tile on the diagonal a team sees no keys after its own rows.
        const int pairs = key_tile == tile ? row_of_team() / 16 + 1 : TILE / 16;
        float scores[TILE / 16][PARTS][4] = {};
        float most[ROWS_HELD];
#pragma unroll
        for (int half = 0; half < ROWS_HELD; ++half) most[half] = largest[half];
#pragma unroll
        for (int pair = 0; pair < TILE / 16; ++pair) {
            if (pair < pairs) multiply_rows(scores[pair], q, keys, pair * 16);
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const bool hidden = key_tile == tile && column_of(PARTS * pair + part, i) > row_of(i);
                    if (hidden) scores[pair][part][i] = -INFINITY;
                    most[i / COLUMNS_HELD] = fmaxf(most[i / COLUMNS_HELD], scores[pair][part][i]);
                }
        }
#pragma unroll
        for (int half = 0; half < ROWS_HELD; ++half) {
            most[half] = row_max(most[half]);
            const float shrink = power_of_two((largest[half] - most[half]) * factor);
            largest[half] = most[half];
            sum[half] *= shrink;
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
                for (int i = 0; i < COLUMNS_HELD; ++i) out[piece][half * COLUMNS_HELD + i] *= shrink;
        }
#pragma unroll
        for (int pair = 0; pair < TILE / 16; ++pair) {
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float weight = power_of_two((scores[pair][part][i] - most[i / COLUMNS_HELD]) * factor);
                    scores[pair][part][i] = weight;
                    sum[i / COLUMNS_HELD] += weight;
                }
            if (pair < pairs) multiply_columns(out, scores[pair], values, pair * 16);
        }
    }
    if (GROUPS > 1 && tile > 0) {
        constexpr int COUNT = PIECES * 4 + 2 * ROWS_HELD;
        float* exchange = reinterpret_cast<float*>(memory);
        __syncthreads();
        if (group > 0) {
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
                for (int i = 0; i < 4; ++i) exchanged(exchange, group, COUNT, piece * 4 + i) = out[piece][i];
#pragma unroll
            for (int half = 0; half < ROWS_HELD; ++half) {
                exchanged(exchange, group, COUNT, PIECES * 4 + half) = largest[half];
                exchanged(exchange, group, COUNT, PIECES * 4 + ROWS_HELD + half) = sum[half];
            }
        }
        __syncthreads();
        if (group == 0) {
            for (int other = 1; other < GROUPS && other <= tile; ++other) {
#pragma unroll
                for (int half = 0; half < ROWS_HELD; ++half) {
                    const float theirs = exchanged(exchange, other, COUNT, PIECES * 4 + half);
                    const float most = fmaxf(largest[half], theirs);
                    const float shrink = power_of_two((largest[half] - most) * factor);
                    const float shrink_theirs = power_of_two((theirs - most) * factor);
                    const float their_sum = exchanged(exchange, other, COUNT, PIECES * 4 + ROWS_HELD + half);
                    largest[half] = most;
                    sum[half] = sum[half] * shrink + their_sum * shrink_theirs;
#pragma unroll
                    for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
                        for (int i = half * COLUMNS_HELD; i < (half + 1) * COLUMNS_HELD; ++i)
                            out[piece][i] = out[piece][i] * shrink +
                                            exchanged(exchange, other, COUNT, piece * 4 + i) * shrink_theirs;
                }
            }
        }
    }
    if (group > 0) return;
#pragma unroll
    for (int half = 0; half < ROWS_HELD; ++half) {
        const int position = tile * TILE + row_of(half * COLUMNS_HELD);
        const float total = row_sum(sum[half]);
        Operand* to = mixed + (size_t)sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
        store_row<false>(to, HEADS * HEAD_DIM, position, out, half, 1.0f / total, rotary);
        if (leads_row() && position < SEQUENCE)
            log_sums[((size_t)sample * HEADS + head) * SEQUENCE + position] = largest[half] * scale + logf(total);
    }
}

