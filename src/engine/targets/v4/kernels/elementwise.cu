// Activation, loss, the embedding's gradient, and the update.

constexpr int FFN_VECTOR = VECTOR_OF(FFN);

INLINE float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

// activated = silu(gate) up; gate and up are the halves of a row.
KERNEL swiglu(const Operand* gate_up, Operand* activated, int rows) {
    wait_for_earlier();
    constexpr int V = FFN_VECTOR;
    const size_t at = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
    const size_t row = at / FFN, column = at % FFN;
    if (row >= rows) return;
    const Operand* pair = gate_up + row * 2 * FFN + column;
    float gate[V], up[V];
    load(pair, gate);
    load(pair + FFN, up);
    for (int i = 0; i < V; ++i) gate[i] *= sigmoid(gate[i]) * up[i];
    store(activated + at, gate);
}

// Replaces gate and up by their gradients.
KERNEL swiglu_backward(Operand* gate_up, const Operand* gradient, int rows) {
    wait_for_earlier();
    constexpr int V = FFN_VECTOR;
    const size_t at = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
    const size_t row = at / FFN, column = at % FFN;
    if (row >= rows) return;
    Operand* pair = gate_up + row * 2 * FFN + column;
    float gate[V], up[V], dy[V];
    load(pair, gate);
    load(pair + FFN, up);
    load(gradient + at, dy);
    for (int i = 0; i < V; ++i) {
        const float s = sigmoid(gate[i]);
        const float d_gate = dy[i] * up[i] * s * (1.0f + gate[i] * (1.0f - s));
        up[i] = dy[i] * gate[i] * s;
        gate[i] = d_gate;
    }
    store(pair, gate);
    store(pair + FFN, up);
}

// Computes the loss of a row and the gradient of the mean over all rows. A block takes a row. One pass finds the
// largest logit and the sum of exponentials, which it rescales for each larger logit. A second pass computes the
// gradient.
constexpr int LOSS_TEAMS = 4;

KERNEL cross_entropy(const float* logits, const int* targets, float* losses, Operand* gradient, float share) {
    wait_for_earlier();
    constexpr int V = VECTOR_OF(VOCABULARY);
    __shared__ float largest_of[LOSS_TEAMS], sum_of[LOSS_TEAMS];
    const size_t row = blockIdx.x;
    const float* here = logits + row * VOCABULARY;
    float largest = -INFINITY, sum = 0.0f;
    for (int column = threadIdx.x * V; column < VOCABULARY; column += LOSS_TEAMS * TEAM * V) {
        float values[V];
        load(here + column, values);
        float most = largest;
        for (int i = 0; i < V; ++i) most = fmaxf(most, values[i]);
        sum *= __expf(largest - most);
        for (int i = 0; i < V; ++i) sum += __expf(values[i] - most);
        largest = most;
    }
    const float team_largest = team_max(largest);
    // A lane without a logit has no largest one either.
    sum = largest == -INFINITY ? 0.0f : sum * __expf(largest - team_largest);
    sum = team_sum(sum);
    if (lane_of_thread() == 0) {
        largest_of[team_of_thread()] = team_largest;
        sum_of[team_of_thread()] = sum;
    }
    __syncthreads();
    largest = largest_of[0];
    for (int i = 1; i < LOSS_TEAMS; ++i) largest = fmaxf(largest, largest_of[i]);
    sum = 0.0f;
    for (int i = 0; i < LOSS_TEAMS; ++i) {
        if (largest_of[i] != -INFINITY) sum += sum_of[i] * __expf(largest_of[i] - largest);
    }
    const int target = targets[row];
    const float log_sum = largest + logf(sum);
    if (threadIdx.x == 0) losses[row] = log_sum - here[target];
    for (int column = threadIdx.x * V; column < VOCABULARY; column += LOSS_TEAMS * TEAM * V) {
        float values[V];
        load(here + column, values);
        for (int i = 0; i < V; ++i) {
            const float hit = column + i == target ? 1.0f : 0.0f;
            values[i] = (__expf(values[i] - log_sum) - hit) * share;
        }
        store(gradient + row * VOCABULARY + column, values);
    }
}

// Writes the mean of the losses to the next place of a ring. After the ring follows the count of all losses so far.
constexpr int MEAN_THREADS = 256;

KERNEL loss(const float* losses, float* ring, int count, int places) {
    wait_for_earlier();
    __shared__ double sums[MEAN_THREADS];
    double sum = 0.0;
    for (int i = threadIdx.x; i < count; i += MEAN_THREADS) sum += losses[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = MEAN_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        int* counter = reinterpret_cast<int*>(ring + places);
        ring[*counter % places] = (float)(sums[0] / count);
        *counter += 1;
    }
}

// Adds the gradients of all tokens that are this block's row of the table, in their order, so that all runs agree.
constexpr int SCATTER_TEAMS = 4;
constexpr int SCATTER_WORDS = TEAM;

KERNEL embedding_gradient(const int* tokens, const float* stream_gradient, Operand* table_gradient, int count) {
    wait_for_earlier();
    constexpr int V = HIDDEN % 4 == 0 ? 4 : 1;
    __shared__ unsigned matches[SCATTER_WORDS];
    __shared__ int found[SCATTER_WORDS * TEAM];
    __shared__ int total;
    const int lane = lane_of_thread(), team = team_of_thread();
    const int wanted = blockIdx.x;
    Operand* row = table_gradient + (size_t)wanted * HIDDEN;
    for (int begin = 0; begin < count; begin += SCATTER_WORDS * TEAM) {
#pragma unroll
        for (int round = 0; round < SCATTER_WORDS / SCATTER_TEAMS; ++round) {
            const int word = round * SCATTER_TEAMS + team, token = begin + word * TEAM + lane;
            const unsigned hits = team_ballot(token < count && tokens[token] == wanted);
            if (lane == 0) matches[word] = hits;
        }
        __syncthreads();
        if (team == 0) {
            // Positions stay in order: those of a lane follow those of the lanes before it.
            unsigned left = matches[lane];
            int place = 0, mine = __popc(left), sum = mine;
            for (int step = 1; step < TEAM; step *= 2) {
                const int before = SHUFFLE(sum, lane - step);
                if (lane >= step) sum += before;
            }
            place = sum - mine;
            for (; left; left &= left - 1) found[place++] = begin + lane * TEAM + __ffs(left) - 1;
            if (lane == TEAM - 1) total = sum;
        }
        __syncthreads();
        const int hits = total;
        for (int column = threadIdx.x * V; hits > 0 && column < HIDDEN; column += SCATTER_TEAMS * TEAM * V) {
            float sum[V];
            load(row + column, sum);
            for (int i = 0; i < hits; ++i) {
                float values[V];
                load(stream_gradient + (size_t)found[i] * HIDDEN + column, values);
                for (int j = 0; j < V; ++j) sum[j] += values[j];
            }
            store(row + column, sum);
        }
        __syncthreads();
    }
}

// Counts the update and computes its factors in f64, so that 1 - beta2 and the bias corrections keep their digits.
KERNEL adamw_factors(float* factors, double rate, double beta1, double beta2, double epsilon, double decay) {
    wait_for_earlier();
    int* counter = reinterpret_cast<int*>(factors + FACTORS);
    const int step = *counter + 1;
    *counter = step;
    factors[0] = (float)beta1;
    factors[1] = (float)(1.0 - beta1);
    factors[2] = (float)beta2;
    factors[3] = (float)(1.0 - beta2);
    factors[4] = (float)(rate / (1.0 - pow(beta1, (double)step)));
    factors[5] = (float)(1.0 / (1.0 - pow(beta2, (double)step)));
    factors[6] = (float)(rate * decay);
    factors[7] = (float)epsilon;
}

// AdamW for four parameters with their moments. Fused multiply-adds are written explicitly. Compilers for AMD GPUs
// would fuse differently in each kernel, and runs with and without halves would differ in the last digit.
INLINE void update_four(float (&weights)[4], const Operand* gradients, float* first, float* second, const float* factors) {
    float f[8], g[4];
    load(factors, f);
    Words4 m = load_once(first), v = load_once(second);
    load(gradients, g);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float mean = fmaf(f[0], float_of(m.word[i]), f[1] * g[i]);
        const float square = fmaf(f[2], float_of(v.word[i]), f[3] * g[i] * g[i]);
        const float direction = f[4] * mean / (sqrtf(f[5] * square) + f[7]);
        weights[i] -= fmaf(f[6], weights[i], direction);
        m.word[i] = bits_of(mean);
        v.word[i] = bits_of(square);
    }
    store_once(first, m);
    store_once(second, v);
}

// A parameter in halves: bf16, rounded to nearest, and the signed rest.
struct Halves {
    unsigned upper, lower;
};
INLINE Halves halves_of(float value) {
    const unsigned bits = bits_of(value);
    Halves halves;
    // Rounding up would turn some NaNs into numbers.
    halves.upper = value != value ? 0x7fc0u : (bits + 0x8000u) >> 16;
    halves.lower = value != value ? 0u : bits & 0xffffu;
    return halves;
}
// A lower half of 0x8000 or more means that the upper half was rounded up.
INLINE float joined(unsigned upper, unsigned lower) { return float_of(((upper - (lower >> 15)) << 16) | lower); }

// One step for four parameters per thread, and their copies for matrix products. `count` is a multiple of four. Only
// the copies are read again before the next update, so the other arrays bypass the cache.
KERNEL adamw(float* weights, const Operand* gradients, float* first, float* second, Operand* copies, const float* factors,
             long long count) {
    wait_for_earlier();
    const long long at = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (at >= count) return;
    const Words4 w = load_once(weights + at);
    float updated[4];
    for (int i = 0; i < 4; ++i) updated[i] = float_of(w.word[i]);
    update_four(updated, gradients + at, first + at, second + at, factors);
    Words4 words;
    for (int i = 0; i < 4; ++i) words.word[i] = bits_of(updated[i]);
    store_once(weights + at, words);
    if (copies) store(copies + at, updated);
}

#if OPERAND_BITS == 16
// The same step for parameters in halves. Matrix products take the upper half, which is rounded. Both halves together
// are the exact parameter, and two bytes fewer are read and written.
KERNEL adamw_halves(Operand* upper, unsigned short* lower, const Operand* gradients, float* first, float* second,
                    const float* factors, long long count) {
    wait_for_earlier();
    const long long at = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (at >= count) return;
    Words2 high = *reinterpret_cast<const Words2*>(upper + at), low = *reinterpret_cast<const Words2*>(lower + at);
    float updated[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int shift = i % 2 * 16;
        updated[i] = joined(high.word[i / 2] >> shift & 0xffffu, low.word[i / 2] >> shift & 0xffffu);
    }
    update_four(updated, gradients + at, first + at, second + at, factors);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const Halves one = halves_of(updated[2 * i]), other = halves_of(updated[2 * i + 1]);
        high.word[i] = one.upper | other.upper << 16;
        low.word[i] = one.lower | other.lower << 16;
    }
    *reinterpret_cast<Words2*>(upper + at) = high;
    *reinterpret_cast<Words2*>(lower + at) = low;
}
#endif
