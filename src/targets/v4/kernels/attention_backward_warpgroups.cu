// The backward pass of attention by warpgroups: the same sums as in attention_backward.cu. Queries and keys come turned.

struct WideBackward {
    const Operand *qkv, *rotated, *mixed, *mixed_gradient;
    const float *rotary, *log_sums;
    Operand* qkv_gradient;
    float scale;
    int sample;
};

// Log sums and deltas of two neighbours lie beside each other.
INLINE float& log_place(float* statistics, int row) { return statistics[row / 2 * 4 + row % 2]; }
INLINE float& delta_place(float* statistics, int row) { return statistics[row / 2 * 4 + 2 + row % 2]; }

// Sums of output times gradient of the rows of two plates, two threads a row.
INLINE void put_deltas(float* statistics, Operand* outputs, Operand* gradients) {
    const int row = thread_of_warpgroup() / 2, half = threadIdx.x % 2;
    float sum = 0.0f;
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS / 2; ++chunk) {
        float output[8], gradient[8];
        load(place_in(outputs, row, chunk * 2 + half), output);
        load(place_in(gradients, row, chunk * 2 + half), gradient);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum += output[i] * gradient[i];
    }
    sum += SHUFFLE_XOR(sum, 1);
    if (half == 0) delta_place(statistics, row) = sum;
}

// In powers of two; infinite behind the sequence, which makes every weight zero.
INLINE float log_of(const WideBackward& b, int head, int position) {
    return position < SEQUENCE ? b.log_sums[((size_t)b.sample * HEADS + head) * SEQUENCE + position] * LOG2_E : INFINITY;
}

// Makes weights of scores, and of the products of gradients and values the scores' gradients. Statistics belong to the columns
// where those are queries, otherwise to the rows.
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
            // A hidden score is no branch: 2 to the power of minus infinity is zero.
            score = power_of_two(hidden ? -INFINITY : score * factor - log);
            slope = score * (slope - delta);
        }
    }
}

// Keys, turned, and their values, by so many threads.
template <int THREADS>
INLINE void copy_keys(const WideBackward& b, Operand* plates, int key_head, int first_row, int thread) {
    const size_t sample = (size_t)b.sample * SEQUENCE;
    const Operand* keys = b.rotated + sample * ROTATED_COLUMNS + (HEADS + key_head) * HEAD_DIM;
    const Operand* values = b.qkv + sample * COLUMNS + (HEADS + KV_HEADS + key_head) * HEAD_DIM;
    copy_plate<THREADS>(plates, keys, ROTATED_COLUMNS, first_row, thread);
    copy_plate<THREADS>(plates + PLATE, values, COLUMNS, first_row, thread);
}

// Gradients of 64 keys and their values, of which each warpgroup adds up every second item, or of 64 queries of a head each.
template <bool KEYS>
INLINE void wide_gradients(const WideBackward& b, int side, int head, Operand* memory, float* statistics) {
    const int group = warpgroup_of_thread(), thread = thread_of_warpgroup();
    const int lane = lane_of_thread(), team_row = thread / TEAM * 16 + lane / 4;
    const Operand* turned = b.rotated + (size_t)b.sample * SEQUENCE * ROTATED_COLUMNS;
    const size_t sample = (size_t)b.sample * SEQUENCE * HEADS * HEAD_DIM;
    // Shared memory: keys and values for both groups, then for each queries and gradients twice, and outputs; or for each queries,
    // gradients and outputs, then keys and values twice.
    Operand* rows = memory + (KEYS ? 0 : group * 7 * PLATE);
    Operand* others = KEYS ? memory + (2 + group * 5) * PLATE : rows + 3 * PLATE;
    Operand* outputs = KEYS ? others + 4 * PLATE : rows + 2 * PLATE;
    const auto copy_queries = [&](Operand* plates, int query_head, int first_row) {
        copy_plate<WARPGROUP>(plates, turned + query_head * HEAD_DIM, ROTATED_COLUMNS, first_row, thread);
        const Operand* gradients = b.mixed_gradient + sample + query_head * HEAD_DIM;
        copy_plate<WARPGROUP>(plates + PLATE, gradients, HEADS * HEAD_DIM, first_row, thread);
    };
    const auto copy_outputs = [&](int query_head, int first_row) {
        copy_plate<WARPGROUP>(outputs, b.mixed + sample + query_head * HEAD_DIM, HEADS * HEAD_DIM, first_row, thread);
    };
    const int items = KEYS ? GROUP * (SIDES - side) : head < HEADS ? side + 1 : 0, step = KEYS ? WARPGROUPS : 1;
    // Which 64 rows an item has, and a key's item the query head.
    const auto side_of = [&](int item) { return KEYS ? side + item / GROUP : item; };
    const auto head_of = [&](int item) { return KEYS ? head * GROUP + item % GROUP : head; };
    const auto copy_item = [&](int item) {
        Operand* plates = others + item / step % 2 * 2 * PLATE;
        if (KEYS) copy_queries(plates, head_of(item), side_of(item) * SIDE);
        else copy_keys<WARPGROUP>(b, plates, head / GROUP, side_of(item) * SIDE, thread);
    };
    const int first = KEYS ? group : 0;
    if (KEYS) copy_keys<WARPGROUP * WARPGROUPS>(b, rows, head, side * SIDE, threadIdx.x);
    else if (items > 0) copy_queries(rows, head, side * SIDE);
    if (first < items) {
        copy_item(first);
        copy_outputs(head_of(first), (KEYS ? side_of(first) : side) * SIDE);
    }
    end_of_copies();
    statistics += group * 2 * SIDE;
    float next_log = 0.0f;
    if (first < items && thread < SIDE) next_log = log_of(b, head_of(first), (KEYS ? side_of(first) : side) * SIDE + thread);
    const float factor = b.scale * LOG2_E;
    float first_sums[HELD], second_sums[HELD], row_logs[2], row_deltas[2];
#pragma unroll
    for (int i = 0; i < HELD; ++i) first_sums[i] = second_sums[i] = 0.0f;
    wait_for_copies();
    __syncthreads();
    for (int item = first; item < items; item += step) {
        const int other = side_of(item), next = item + step;
        Operand* plates = others + item / step % 2 * 2 * PLATE;
        if (item > first) {
            wait_for_copies();
            warpgroup_barrier();
        }
        float scores[32], slopes[32];
        before_products();
        multiply_plates(scores, rows, plates);
        multiply_plates(slopes, rows + PLATE, plates + PLATE);
        start_products();
        if (next < items) copy_item(next);
        if (KEYS || item == first) {
            if (thread < SIDE) log_place(statistics, thread) = next_log;
            put_deltas(statistics, outputs, KEYS ? plates + PLATE : rows + PLATE);
            warpgroup_barrier();
        }
        if (KEYS && next < items) {
            copy_outputs(head_of(next), side_of(next) * SIDE);
            if (thread < SIDE) next_log = log_of(b, head_of(next), side_of(next) * SIDE + thread);
        }
        end_of_copies();
        if (!KEYS && item == first) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                row_logs[half] = log_place(statistics, team_row + half * 8);
                row_deltas[half] = delta_place(statistics, team_row + half * 8);
            }
        }
        wait_for_products(scores);
        wait_for_products(slopes);
        if (other == side) weigh<KEYS, true>(scores, slopes, factor, statistics, row_logs, row_deltas);
        else weigh<KEYS, false>(scores, slopes, factor, statistics, row_logs, row_deltas);
        unsigned weights[4][4], changes[4][4];
        if (KEYS) as_operand(weights, scores);
        as_operand(changes, slopes);
        before_products();
        if (KEYS) multiply_plate(second_sums, weights, plates + PLATE);
        multiply_plate(first_sums, changes, plates);
        start_products();
        wait_for_products(first_sums);
        if (KEYS) wait_for_products(second_sums);
    }
    __syncthreads();
    float* kept = reinterpret_cast<float*>(memory);
    float* stored = kept + 2 * HELD * WARPGROUP + group * SIDE * STORED_ROW;
    Operand* to = b.qkv_gradient + (size_t)b.sample * SEQUENCE * COLUMNS + (KEYS ? HEADS + head : head) * HEAD_DIM;
    if constexpr (KEYS) {
        // The first group has the keys' sums in the end, the second the values'.
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            kept[(group * HELD + i) * WARPGROUP + thread] = group == 0 ? second_sums[i] : first_sums[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < HELD; ++i) {
            const float theirs = kept[((1 - group) * HELD + i) * WARPGROUP + thread];
            if (group == 0) first_sums[i] += theirs;
            else second_sums[i] = theirs + second_sums[i];
        }
        if (group == 0) store_rows<true>(to, COLUMNS, side * SIDE, first_sums, b.scale, stored, b.rotary);
        else store_rows<false>(to + KV_HEADS * HEAD_DIM, COLUMNS, side * SIDE, second_sums, 1.0f, stored, b.rotary);
    } else if (items > 0) {
        store_rows<true>(to, COLUMNS, side * SIDE, first_sums, b.scale, stored, b.rotary);
    }
}

// A block takes 64 keys, or 64 queries of two heads: grid (key heads or pairs of heads, both of rows / 64, samples). Those of a
// sample with most to do come first, so that the short ones fill up the end.
KERNEL __launch_bounds__(WARPGROUP * WARPGROUPS)
attention_backward(const Operand* qkv, const float* rotary, const Operand* rotated, const Operand* mixed, const float* log_sums,
                   const Operand* mixed_gradient, Operand* qkv_gradient, float scale) {
    wait_for_earlier();
    extern __shared__ Words4 dynamic_shared_memory[];
    alignas(16) __shared__ float statistics[WARPGROUPS * 2 * SIDE];
    Operand* memory = plates_of(dynamic_shared_memory);
    const WideBackward b = {qkv, rotated, mixed, mixed_gradient, rotary, log_sums, qkv_gradient, scale, (int)blockIdx.z};
    const int place = blockIdx.y / 2, pair = blockIdx.x * WARPGROUPS;
    if (blockIdx.y % 2 == 0) {
        if (blockIdx.x < KV_HEADS) wide_gradients<true>(b, place, blockIdx.x, memory, statistics);
    } else if (pair < HEADS) {
        wide_gradients<false>(b, SIDES - 1 - place, pair + warpgroup_of_thread(), memory, statistics);
    }
}
