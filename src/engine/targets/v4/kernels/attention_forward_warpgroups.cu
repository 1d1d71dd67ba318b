// Attention by warpgroups: the same sums as in attention.cu.

// Rotates queries and keys for both passes: each thread handles eight columns of a row.
KERNEL rotate(const Operand* qkv, const float* rotary, Operand* rotated, int rows) {
    wait_for_earlier();
    constexpr int PER_ROW = ROTATED_COLUMNS / 8;
    const size_t index = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const size_t row = index / PER_ROW;
    const int column = index % PER_ROW * 8;
    if (row >= rows) return;
    float values[8], angles[8];
    load(qkv + row * COLUMNS + column, values);
    load(rotary + row % SEQUENCE * HEAD_DIM + column % HEAD_DIM, angles);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        const float even = values[i];
        values[i] = even * angles[i] - values[i + 1] * angles[i + 1];
        values[i + 1] = even * angles[i + 1] + values[i + 1] * angles[i];
    }
    store(rotated + row * ROTATED_COLUMNS + column, values);
}

INLINE float row_of_four_max(float value) {
    value = fmaxf(value, SHUFFLE_XOR(value, 1));
    return fmaxf(value, SHUFFLE_XOR(value, 2));
}
INLINE float row_of_four_sum(float value) {
    value += SHUFFLE_XOR(value, 1);
    return value + SHUFFLE_XOR(value, 2);
}

// A block takes 128 queries of a head; a compute unit holds two blocks: grid (heads x sequence / 128 x samples
// processed together, the rest of the samples).
KERNEL __launch_bounds__(WARPGROUP * WARPGROUPS, 2)
attention(const Operand* qkv, const float* rotary, const Operand* rotated, Operand* mixed, float* log_sums, float scale) {
    wait_for_earlier();
    extern __shared__ Words4 dynamic_shared_memory[];
    const int group = warpgroup_of_thread(), thread = thread_of_warpgroup(), lane = lane_of_thread();
    const int team_row = thread / TEAM * 16 + lane / 4;
    constexpr int COUNT = HEADS * PLACES;
    // The longest rows come first, so that the short ones fill the end.
    const int place = PLACES - 1 - block_of_sample(COUNT) / HEADS, head = block_of_sample(COUNT) % HEADS;
    const int sample = sample_of_block(COUNT), side = place * WARPGROUPS + group;
    const int items = place == PLACES - 1 ? SIDES : (place + 1) * WARPGROUPS;
    Operand* memory = plates_of(dynamic_shared_memory);
    Operand* queries = memory + group * PLATE;
    const Operand* turned = rotated + (size_t)sample * SEQUENCE * ROTATED_COLUMNS;
    const Operand* keys = turned + (HEADS + head / GROUP) * HEAD_DIM;
    const Operand* values = qkv + (size_t)sample * SEQUENCE * COLUMNS + (HEADS + KV_HEADS + head / GROUP) * HEAD_DIM;
    const auto plates_of_item = [&](int item) { return memory + (WARPGROUPS + item % 2 * 2) * PLATE; };
    const auto copy_item = [&](int item) {
        constexpr int THREADS = WARPGROUP * WARPGROUPS;
        copy_plate<THREADS, ROTATED_COLUMNS>(plates_of_item(item), keys, item * SIDE, threadIdx.x);
        copy_plate<THREADS, COLUMNS>(plates_of_item(item) + PLATE, values, item * SIDE, threadIdx.x);
        end_of_copies();
    };
    // With an odd number of sides, the last block's second warpgroup has nothing to do.
    if (side < SIDES) copy_plate<WARPGROUP, ROTATED_COLUMNS>(queries, turned + head * HEAD_DIM, side * SIDE, thread);
    copy_item(0);
    const float factor = scale * LOG2_E;
    float out[HELD], largest[2] = {-INFINITY, -INFINITY}, sum[2] = {};
#pragma unroll
    for (int i = 0; i < HELD; ++i) out[i] = 0.0f;
    for (int item = 0; item < items; ++item) {
        Operand* plates = plates_of_item(item);
        wait_for_copies();
        __syncthreads();
        if (item + 1 < items) copy_item(item + 1);
        if (side >= SIDES || item > side) continue;
        float scores[32];
        before_products();
        multiply_plates(scores, queries, plates);
        start_products();
        wait_for_products(scores);
        float most[2] = {largest[0], largest[1]};
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const int half = i / 2 % 2, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (item == side && column > team_row + half * 8) scores[i] = -INFINITY;
            most[half] = fmaxf(most[half], scores[i]);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            most[half] = row_of_four_max(most[half]);
            const float shrink = power_of_two((largest[half] - most[half]) * factor);
            largest[half] = most[half];
            sum[half] *= shrink;
#pragma unroll
            for (int i = 0; i < HELD; i += 4) {
                out[i + 2 * half] *= shrink;
                out[i + 2 * half + 1] *= shrink;
            }
        }
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const int half = i / 2 % 2;
            scores[i] = power_of_two((scores[i] - most[half]) * factor);
            sum[half] += scores[i];
        }
        unsigned weights[4][4];
        as_operand(weights, scores);
        before_products();
        multiply_plate(out, weights, plates + PLATE);
        start_products();
        wait_for_products(out);
    }
    __syncthreads();
    if (side >= SIDES) return;
    const float totals[2] = {row_of_four_sum(sum[0]), row_of_four_sum(sum[1])};
    const float shares[2] = {1.0f / totals[0], 1.0f / totals[1]};
#pragma unroll
    for (int i = 0; i < HELD; ++i) out[i] *= shares[i / 2 % 2];
    if (lane % 4 == 0) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int position = side * SIDE + team_row + half * 8;
            if (position < SEQUENCE)
                log_sums[((size_t)sample * HEADS + head) * SEQUENCE + position] = largest[half] * scale + logf(totals[half]);
        }
    }
    Operand* to = mixed + (size_t)sample * SEQUENCE * HEADS * HEAD_DIM + head * HEAD_DIM;
    float* stored = reinterpret_cast<float*>(memory) + group * SIDE * STORED_ROW;
    store_rows<false, HEADS * HEAD_DIM>(to, side * SIDE, out, 1.0f, stored, {});
}
