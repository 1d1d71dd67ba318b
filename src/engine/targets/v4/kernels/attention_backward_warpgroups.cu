// The backward pass of attention by warpgroups: the same sums as in attention_backward.cu. Queries and keys are already
// rotated.

struct WideBackward {
    const Operand *qkv, *rotated, *mixed, *mixed_gradient;
    const float *rotary, *log_sums;
    Operand* qkv_gradient;
    float scale;
    int sample;
};

// The log sums of two neighbouring rows are adjacent, followed by their deltas.
INLINE float& log_place(float* statistics, int row) { return statistics[row / 2 * 4 + row % 2]; }
INLINE float& delta_place(float* statistics, int row) { return statistics[row / 2 * 4 + 2 + row % 2]; }

// Computes the sums of output times gradient for the rows of two plates. They are the diagonal of a product, of which a
// team multiplies only its own 16 rows. Sixteen columns at a time are loaded as rows of A, or as the columns of two B.
INLINE void put_deltas(float* statistics, Operand* outputs, Operand* gradients) {
    const int lane = lane_of_thread(), first_row = thread_of_warpgroup() / TEAM * 16;
    float upper[4] = {}, lower[4] = {};
#pragma unroll
    for (int step = 0; step < HEAD_DIM / 16; ++step) {
        const int row = first_row + lane % 16, chunk = step * 2 + lane / 16;
        A output, gradient;
        load_matrices<false>(output.word, place_in(outputs, row, chunk));
        load_matrices<false>(gradient.word, place_in(gradients, row, chunk));
        multiply(upper, output, B{{gradient.word[0], gradient.word[2]}});
        multiply(lower, output, B{{gradient.word[1], gradient.word[3]}});
    }
    // A lane has two columns of its row.
    const int row = lane / 4;
    if (lane % 4 == row / 2) {
        delta_place(statistics, first_row + row) = row % 2 == 0 ? upper[0] : upper[1];
        delta_place(statistics, first_row + row + 8) = row % 2 == 0 ? lower[2] : lower[3];
    }
}

// Returns infinity after the end of the sequence, which makes every weight zero.
INLINE float log_of(const WideBackward& b, int head, int position) {
    return position < SEQUENCE ? b.log_sums[((size_t)b.sample * HEADS + head) * SEQUENCE + position] : INFINITY;
}

// Turns scores into weights, and products of gradients and values into the scores' gradients. Statistics belong to the
// columns if those are queries, otherwise to the rows.
template <bool KEYS, bool DIAGONAL>
INLINE void weigh(float (&scores)[32], float (&slopes)[32], float factor, const float* statistics, const float (&row_logs)[2],
                  const float (&row_deltas)[2]) {
    const int lane = lane_of_thread(), team_row = thread_of_warpgroup() / TEAM * 16 + lane / 4;
#pragma unroll
    for (int piece = 0; piece < 8; ++piece) {
        float of_columns[4];
        if (KEYS) load(statistics + (piece * 4 + lane % 4) * 4, of_columns);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = team_row + i / 2 * 8, column = piece * 8 + lane % 4 * 2 + i % 2;
            const bool hidden = DIAGONAL && (KEYS ? column < row : column > row);
            const float log = KEYS ? of_columns[i % 2] : row_logs[i / 2];
            const float delta = KEYS ? of_columns[2 + i % 2] : row_deltas[i / 2];
            float &score = scores[piece * 4 + i], &slope = slopes[piece * 4 + i];
            // A hidden score needs no branch: 2 to the power of minus infinity is zero.
            score = power_of_two(hidden ? -INFINITY : score * factor - log);
            slope = score * (slope - delta);
        }
    }
}

// All threads of a block copy rotated keys and their values.
INLINE void copy_keys(const WideBackward& b, Operand* plates, int key_head, int first_row) {
    constexpr int THREADS = WARPGROUP * WARPGROUPS;
    const size_t sample = (size_t)b.sample * SEQUENCE;
    const Operand* keys = b.rotated + sample * ROTATED_COLUMNS + (HEADS + key_head) * HEAD_DIM;
    const Operand* values = b.qkv + sample * COLUMNS + (HEADS + KV_HEADS + key_head) * HEAD_DIM;
    copy_plate<THREADS, ROTATED_COLUMNS>(plates, keys, first_row, threadIdx.x);
    copy_plate<THREADS, COLUMNS>(plates + PLATE, values, first_row, threadIdx.x);
}

// A warpgroup copies rows of a query head: rotated queries, gradients of outputs, and outputs.
INLINE void copy_queries(const WideBackward& b, Operand* plates, int head, int first_row) {
    const size_t sample = (size_t)b.sample * SEQUENCE;
    const Operand* queries = b.rotated + sample * ROTATED_COLUMNS + head * HEAD_DIM;
    const Operand* gradients = b.mixed_gradient + sample * HEADS * HEAD_DIM + head * HEAD_DIM;
    copy_plate<WARPGROUP, ROTATED_COLUMNS>(plates, queries, first_row, thread_of_warpgroup());
    copy_plate<WARPGROUP, HEADS * HEAD_DIM>(plates + PLATE, gradients, first_row, thread_of_warpgroup());
}
INLINE void copy_outputs(const WideBackward& b, Operand* plate, int head, int first_row) {
    const Operand* outputs = b.mixed + (size_t)b.sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
    copy_plate<WARPGROUP, HEADS * HEAD_DIM>(plate, outputs, first_row, thread_of_warpgroup());
}

// Computes scores, and products of gradients and values, from two pairs of plates.
INLINE void multiply_pairs(float (&scores)[32], float (&slopes)[32], const Operand* rows, const Operand* others) {
    before_products();
    multiply_plates(scores, rows, others);
    multiply_plates(slopes, rows + PLATE, others + PLATE);
    start_products();
}

// Stores a log sum in powers of two.
INLINE void put_log(float* statistics, float log) {
    if (thread_of_warpgroup() < SIDE) log_place(statistics, thread_of_warpgroup()) = log * LOG2_E;
}

// Computes gradients of 64 keys and their values. An item is a side of 64 queries, from the keys' own side on, of a query
// head that shares the keys. Each warpgroup adds every second item.
INLINE void key_gradients(const WideBackward& b, int side, int head, Operand* memory, float* statistics) {
    const int group = warpgroup_of_thread(), thread = thread_of_warpgroup();
    // Memory: keys and values for both groups, then for each group queries and gradients twice, and outputs.
    Operand *others = memory + (2 + group * 5) * PLATE, *outputs = others + 4 * PLATE;
    const auto plates_of_item = [&](int item) { return others + item / WARPGROUPS % 2 * 2 * PLATE; };
    const auto head_of = [&](int item) { return head * GROUP + item % GROUP; };
    const auto row_of = [&](int item) { return (side + item / GROUP) * SIDE; };
    const auto next_log_of = [&](int item) { return thread < SIDE ? log_of(b, head_of(item), row_of(item) + thread) : 0.0f; };
    const int items = GROUP * (SIDES - side);
    float next_log = 0.0f;
    copy_keys(b, memory, head, side * SIDE);
    if (group < items) {
        copy_queries(b, plates_of_item(group), head_of(group), row_of(group));
        copy_outputs(b, outputs, head_of(group), row_of(group));
        next_log = next_log_of(group);
    }
    end_of_copies();
    const float factor = b.scale * LOG2_E;
    float keys[HELD], values[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i) keys[i] = values[i] = 0.0f;
    wait_for_copies();
    __syncthreads();
    for (int item = group; item < items; item += WARPGROUPS) {
        const int next = item + WARPGROUPS;
        Operand* plates = plates_of_item(item);
        if (item > group) {
            wait_for_copies();
            warpgroup_barrier();
        }
        float scores[32], slopes[32];
        multiply_pairs(scores, slopes, memory, plates);
        if (next < items) copy_queries(b, plates_of_item(next), head_of(next), row_of(next));
        put_log(statistics, next_log);
        put_deltas(statistics, outputs, plates + PLATE);
        warpgroup_barrier();
        if (next < items) {
            copy_outputs(b, outputs, head_of(next), row_of(next));
            next_log = next_log_of(next);
        }
        end_of_copies();
        wait_for_products(scores);
        wait_for_products(slopes);
        if (item < GROUP) weigh<true, true>(scores, slopes, factor, statistics, {}, {});
        else weigh<true, false>(scores, slopes, factor, statistics, {}, {});
        unsigned weights[4][4], changes[4][4];
        as_operand(weights, scores);
        as_operand(changes, slopes);
        before_products();
        multiply_plate(values, weights, plates + PLATE);
        multiply_plate(keys, changes, plates);
        start_products();
        wait_for_products(keys);
        wait_for_products(values);
    }
    __syncthreads();
    // In the end the first group has the keys' sums, the second the values'.
    Words4* given = reinterpret_cast<Words4*>(memory) + thread;
    const auto place_of = [&](int of, int i) { return given + (of * HELD + i) / 4 * WARPGROUP; };
#pragma unroll
    for (int i = 0; i < HELD; i += 4) {
        Words4 words;
#pragma unroll
        for (int j = 0; j < 4; ++j) words.word[j] = bits_of(group == 0 ? values[i + j] : keys[i + j]);
        *place_of(group, i) = words;
    }
    float angles[STORES][4];
    if (group == 0) load_angles(angles, b.rotary, side * SIDE);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < HELD; i += 4) {
        const Words4 theirs = *place_of(1 - group, i);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (group == 0) keys[i + j] += float_of(theirs.word[j]);
            else values[i + j] = float_of(theirs.word[j]) + values[i + j];
        }
    }
    float* stored = reinterpret_cast<float*>(memory) + 2 * HELD * WARPGROUP + group * SIDE * STORED_ROW;
    Operand* to = b.qkv_gradient + (size_t)b.sample * SEQUENCE * COLUMNS + (HEADS + head) * HEAD_DIM;
    if (group == 0) store_rows<true, COLUMNS>(to, side * SIDE, keys, b.scale, stored, angles);
    else store_rows<false, COLUMNS>(to + KV_HEADS * HEAD_DIM, side * SIDE, values, 1.0f, stored, angles);
}

// Computes gradients of 128 queries of a head, one side per warpgroup. Both process the same keys.
INLINE void query_gradients(const WideBackward& b, int place, int head, Operand* memory, float* statistics) {
    const int group = warpgroup_of_thread(), thread = thread_of_warpgroup();
    const int team_row = thread / TEAM * 16 + lane_of_thread() / 4;
    const int side = place * WARPGROUPS + group, items = place == PLACES - 1 ? SIDES : (place + 1) * WARPGROUPS;
    // Memory: for each group queries, gradients and outputs, then keys and values twice.
    Operand *rows = memory + group * 3 * PLATE, *outputs = rows + 2 * PLATE;
    const auto plates_of_item = [&](int item) { return memory + (WARPGROUPS * 3 + item % 2 * 2) * PLATE; };
    const auto copy_item = [&](int item) {
        copy_keys(b, plates_of_item(item), head / GROUP, item * SIDE);
        end_of_copies();
    };
    // With an odd number of sides, the last block's second warpgroup has nothing to do.
    float log = 0.0f;
    if (side < SIDES) {
        copy_queries(b, rows, head, side * SIDE);
        copy_outputs(b, outputs, head, side * SIDE);
        if (thread < SIDE) log = log_of(b, head, side * SIDE + thread);
    }
    copy_item(0);
    const float factor = b.scale * LOG2_E;
    float sums[HELD], row_logs[2], row_deltas[2];
#pragma unroll
    for (int i = 0; i < HELD; ++i) sums[i] = 0.0f;
    for (int item = 0; item < items; ++item) {
        Operand* plates = plates_of_item(item);
        wait_for_copies();
        __syncthreads();
        if (item + 1 < items) copy_item(item + 1);
        if (side >= SIDES || item > side) continue;
        float scores[32], slopes[32];
        multiply_pairs(scores, slopes, rows, plates);
        if (item == 0) {
            put_log(statistics, log);
            put_deltas(statistics, outputs, rows + PLATE);
            warpgroup_barrier();
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                row_logs[half] = log_place(statistics, team_row + half * 8);
                row_deltas[half] = delta_place(statistics, team_row + half * 8);
            }
        }
        wait_for_products(scores);
        wait_for_products(slopes);
        if (item == side) weigh<false, true>(scores, slopes, factor, statistics, row_logs, row_deltas);
        else weigh<false, false>(scores, slopes, factor, statistics, row_logs, row_deltas);
        unsigned changes[4][4];
        as_operand(changes, slopes);
        before_products();
        multiply_plate(sums, changes, plates);
        start_products();
        wait_for_products(sums);
    }
    float angles[STORES][4];
    if (side < SIDES) load_angles(angles, b.rotary, side * SIDE);
    __syncthreads();
    if (side >= SIDES) return;
    float* stored = reinterpret_cast<float*>(memory) + group * SIDE * STORED_ROW;
    Operand* to = b.qkv_gradient + (size_t)b.sample * SEQUENCE * COLUMNS + head * HEAD_DIM;
    store_rows<true, COLUMNS>(to, side * SIDE, sums, b.scale, stored, angles);
}

// A block takes 64 keys of a head or 128 queries of one: grid (both x samples processed together, the rest of the
// samples). Blocks with the most work come first, so that the short ones fill the end.
KERNEL __launch_bounds__(WARPGROUP * WARPGROUPS)
attention_backward(const Operand* qkv, const float* rotary, const Operand* rotated, const Operand* mixed, const float* log_sums,
                   const Operand* mixed_gradient, Operand* qkv_gradient, float scale) {
    wait_for_earlier();
    extern __shared__ Words4 dynamic_shared_memory[];
    alignas(16) __shared__ float statistics[WARPGROUPS * 2 * SIDE];
    Operand* memory = plates_of(dynamic_shared_memory);
    float* own = statistics + warpgroup_of_thread() * 2 * SIDE;
    constexpr int KEYS = KV_HEADS * SIDES, QUERIES = HEADS * PLACES, COUNT = KEYS + QUERIES;
    constexpr int BOTH = 2 * (KEYS < QUERIES ? KEYS : QUERIES);
    const WideBackward b = {qkv, rotated, mixed, mixed_gradient, rotary, log_sums, qkv_gradient, scale, sample_of_block(COUNT)};
    // Blocks of both kinds alternate, followed by the remaining ones of the more frequent kind.
    const int block = block_of_sample(COUNT), index = block < BOTH ? block / 2 : block - BOTH / 2;
    if (block < BOTH ? block % 2 == 0 : KEYS > QUERIES) {
        key_gradients(b, index / KV_HEADS, index % KV_HEADS, memory, own);
    } else {
        query_gradients(b, PLACES - 1 - index / HEADS, index % HEADS, memory, own);
    }
}
