// RMSNorm, forward and backward. A team takes a row.

constexpr int HIDDEN_VECTOR = VECTOR_OF(HIDDEN);

// Steps of a team over a row. ROW_KEPT: a lane's share of a row fits its registers.
constexpr int HIDDEN_STEPS = (HIDDEN + TEAM * HIDDEN_VECTOR - 1) / (TEAM * HIDDEN_VECTOR);
constexpr bool ROW_KEPT = HIDDEN_STEPS * HIDDEN_VECTOR <= 32;
constexpr int ROW_STEPS = ROW_KEPT ? HIDDEN_STEPS : 1;

INLINE int column_of_step(int step) { return (step * TEAM + lane_of_thread()) * HIDDEN_VECTOR; }

template <class From>
INLINE void load_step(const From* row, int step, float (&values)[HIDDEN_VECTOR]) {
    const int column = column_of_step(step);
    if (HIDDEN % (TEAM * HIDDEN_VECTOR) == 0 || column < HIDDEN) {
        load(row + column, values);
    } else {
        for (int i = 0; i < HIDDEN_VECTOR; ++i) values[i] = 0.0f;
    }
}

template <class To>
INLINE void store_step(To* row, int step, const float (&values)[HIDDEN_VECTOR]) {
    const int column = column_of_step(step);
    if (HIDDEN % (TEAM * HIDDEN_VECTOR) == 0 || column < HIDDEN) store(row + column, values);
}

// A lane's share of a row: read once if it is kept, otherwise again for every use.
template <class From>
struct Row {
    const From* from;
    float kept[ROW_STEPS][HIDDEN_VECTOR];

    static __device__ __forceinline__ Row of(const From* from) {
        Row row;
        row.from = from;
        if (ROW_KEPT) {
#pragma unroll
            for (int step = 0; step < ROW_STEPS; ++step) load_step(from, step, row.kept[step]);
        }
        return row;
    }

    __device__ __forceinline__ void get(int step, float (&values)[HIDDEN_VECTOR]) const {
        if (ROW_KEPT) {
            for (int i = 0; i < HIDDEN_VECTOR; ++i) values[i] = kept[step % ROW_STEPS][i];
        } else {
            load_step(from, step, values);
        }
    }
};

// scale = 1 / sqrt(mean(x^2) + epsilon), normed = x scale weight. With `stream`, x is also copied there.
INLINE void normalize_row(const float* x, float* stream, const float* weight, Operand* normed, float* scale, float epsilon) {
    constexpr int V = HIDDEN_VECTOR;
    const Row<float> xs = Row<float>::of(x), weights = Row<float>::of(weight);
    float squares = 0.0f;
#pragma unroll
    for (int step = 0; step < HIDDEN_STEPS; ++step) {
        float values[V];
        xs.get(step, values);
        for (int i = 0; i < V; ++i) squares += values[i] * values[i];
        if (stream) store_step(stream, step, values);
    }
    const float factor = 1.0f / sqrtf(team_sum(squares) / HIDDEN + epsilon);
    if (lane_of_thread() == 0) *scale = factor;
#pragma unroll
    for (int step = 0; step < HIDDEN_STEPS; ++step) {
        float values[V], weight_values[V];
        xs.get(step, values);
        weights.get(step, weight_values);
        for (int i = 0; i < V; ++i) values[i] *= factor * weight_values[i];
        store_step(normed, step, values);
    }
}

KERNEL lookup_normalize(const int* tokens, const float* table, float* stream, const float* weight, Operand* normed,
                        float* scale, float epsilon, int rows) {
    wait_for_earlier();
    const size_t row = (size_t)blockIdx.x * (blockDim.x / TEAM) + team_of_thread();
    if (row >= rows) return;
    const float* x = table + (size_t)tokens[row] * HIDDEN;
    normalize_row(x, stream + row * HIDDEN, weight, normed + row * HIDDEN, scale + row, epsilon);
}

KERNEL normalize(const float* stream, const float* weight, Operand* normed, float* scale, float epsilon, int rows) {
    wait_for_earlier();
    const size_t row = (size_t)blockIdx.x * (blockDim.x / TEAM) + team_of_thread();
    if (row >= rows) return;
    normalize_row(stream + row * HIDDEN, nullptr, weight, normed + row * HIDDEN, scale + row, epsilon);
}

// With g = dy weight: dx = scale g - x scale^3 (g x) / HIDDEN. It is added to `gradient`, and the sum is copied in the
// operands' type. A block takes `rows_per_block` rows and writes the sum of dy x scale over them as one row of
// `partials`.
KERNEL __launch_bounds__(NORM_TEAMS * TEAM)
normalize_backward(const Operand* dy, const float* x, const float* scales, const float* weight, float* gradient,
                   Operand* copy, float* partials, int rows, int rows_per_block, int first) {
    wait_for_earlier();
    constexpr int V = HIDDEN_VECTOR;
    alignas(16) __shared__ float sums[NORM_TEAMS][HIDDEN];
    const int lane = lane_of_thread(), team = team_of_thread();
    for (int column = lane; column < HIDDEN; column += TEAM) sums[team][column] = 0.0f;
    // Other lanes of the team add to the sums that this lane has cleared.
    __syncthreads();
    const Row<float> weights = Row<float>::of(weight);
    const int begin = blockIdx.x * rows_per_block;
    const int end = min(begin + rows_per_block, rows);
    for (int row = begin + team; row < end; row += NORM_TEAMS) {
        const size_t at = (size_t)row * HIDDEN;
        const float scale = scales[row];
        const Row<float> xs = Row<float>::of(x + at);
        const Row<Operand> dys = Row<Operand>::of(dy + at);
        Row<float> before;
        if (!first) before = Row<float>::of(gradient + at);
        float dot = 0.0f;
#pragma unroll
        for (int step = 0; step < HIDDEN_STEPS; ++step) {
            float x_values[V], dy_values[V], weight_values[V];
            xs.get(step, x_values);
            dys.get(step, dy_values);
            weights.get(step, weight_values);
            for (int i = 0; i < V; ++i) dot += dy_values[i] * weight_values[i] * x_values[i];
        }
        const float pull = team_sum(dot) * scale * scale * scale / HIDDEN;
#pragma unroll
        for (int step = 0; step < HIDDEN_STEPS; ++step) {
            const int column = column_of_step(step);
            float x_values[V], dy_values[V], weight_values[V], sum[V];
            xs.get(step, x_values);
            dys.get(step, dy_values);
            weights.get(step, weight_values);
            if (first) {
                for (int i = 0; i < V; ++i) sum[i] = 0.0f;
            } else {
                before.get(step, sum);
            }
            float share[V];
            for (int i = 0; i < V; ++i) {
                sum[i] += scale * dy_values[i] * weight_values[i] - x_values[i] * pull;
                share[i] = dy_values[i] * x_values[i] * scale;
            }
            if (column < HIDDEN) {
                float so_far[V];
                load(&sums[team][column], so_far);
                for (int i = 0; i < V; ++i) so_far[i] += share[i];
                store(&sums[team][column], so_far);
            }
            store_step(gradient + at, step, sum);
            if (copy) store_step(copy + at, step, sum);
        }
    }
    __syncthreads();
    for (int column = threadIdx.x; column < HIDDEN; column += NORM_TEAMS * TEAM) {
        float sum = 0.0f;
        for (int i = 0; i < NORM_TEAMS; ++i) sum += sums[i][column];
        partials[(size_t)blockIdx.x * HIDDEN + column] = sum;
    }
}

// Sums the partial rows of every norm. A block takes 32 columns of one norm, each of its teams every eighth row.
constexpr int PARTIAL_TEAMS = 8;

KERNEL norm_gradients(const float* partials, Operand* gradients, int rows) {
    wait_for_earlier();
    __shared__ float sums[PARTIAL_TEAMS][TEAM];
    const int lane = lane_of_thread(), team = team_of_thread();
    const int column = blockIdx.x * TEAM + lane;
    const size_t norm = blockIdx.y;
    float sum = 0.0f;
    if (column < HIDDEN) {
        for (int row = team; row < rows; row += PARTIAL_TEAMS) sum += partials[(norm * rows + row) * HIDDEN + column];
    }
    sums[team][lane] = sum;
    __syncthreads();
    if (team == 0 && column < HIDDEN) {
        for (int i = 1; i < PARTIAL_TEAMS; ++i) sum += sums[i][lane];
        gradients[norm * HIDDEN + column] = narrow(sum);
    }
}
