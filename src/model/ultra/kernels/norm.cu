// RMSNorm, forward and backward. A team takes a row.

constexpr int HIDDEN_VECTOR = VECTOR_OF(HIDDEN);

// scale = 1 / sqrt(mean(x^2) + epsilon), normed = x scale weight. With tokens, x is the table's row of each token and is
// also written to `stream`.
INLINE void normalize_row(const float* x, float* stream, const float* weight, Operand* normed, float* scale, float epsilon) {
    constexpr int V = HIDDEN_VECTOR;
    const int lane = lane_of_thread();
    float squares = 0.0f;
    for (int column = lane * V; column < HIDDEN; column += TEAM * V) {
        float values[V];
        load(x + column, values);
        for (int i = 0; i < V; ++i) squares += values[i] * values[i];
        if (stream) store(stream + column, values);
    }
    const float factor = 1.0f / sqrtf(team_sum(squares) / HIDDEN + epsilon);
    if (lane == 0) *scale = factor;
    for (int column = lane * V; column < HIDDEN; column += TEAM * V) {
        float values[V], weights[V];
        load(x + column, values);
        load(weight + column, weights);
        for (int i = 0; i < V; ++i) values[i] *= factor * weights[i];
        store(normed + column, values);
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

// With g = dy weight: dx = scale g - x scale^3 (g x) / HIDDEN, added to `gradient`; a copy of the sum in the operands'
// type. A block takes `rows_per_block` rows and leaves the sum of dy x scale over them as one row of `partials`.
KERNEL __launch_bounds__(NORM_TEAMS * TEAM)
normalize_backward(const Operand* dy, const float* x, const float* scales, const float* weight, float* gradient,
                   Operand* copy, float* partials, int rows, int rows_per_block, int first) {
    wait_for_earlier();
    constexpr int V = HIDDEN_VECTOR;
    __shared__ float sums[NORM_TEAMS][HIDDEN];
    const int lane = lane_of_thread(), team = team_of_thread();
    for (int column = lane; column < HIDDEN; column += TEAM) sums[team][column] = 0.0f;
    __syncthreads();
    const int begin = blockIdx.x * rows_per_block;
    const int end = min(begin + rows_per_block, rows);
    for (int row = begin + team; row < end; row += NORM_TEAMS) {
        const size_t at = (size_t)row * HIDDEN;
        const float scale = scales[row];
        float dot = 0.0f;
        for (int column = lane * V; column < HIDDEN; column += TEAM * V) {
            float xs[V], dys[V], weights[V];
            load(x + at + column, xs);
            load(dy + at + column, dys);
            load(weight + column, weights);
            for (int i = 0; i < V; ++i) dot += dys[i] * weights[i] * xs[i];
        }
        const float pull = team_sum(dot) * scale * scale * scale / HIDDEN;
        for (int column = lane * V; column < HIDDEN; column += TEAM * V) {
            float xs[V], dys[V], weights[V], sum[V];
            load(x + at + column, xs);
            load(dy + at + column, dys);
            load(weight + column, weights);
            if (first) {
                for (int i = 0; i < V; ++i) sum[i] = 0.0f;
            } else {
                load(gradient + at + column, sum);
            }
            for (int i = 0; i < V; ++i) {
                sum[i] += scale * dys[i] * weights[i] - xs[i] * pull;
                sums[team][column + i] += dys[i] * xs[i] * scale;
            }
            store(gradient + at + column, sum);
            if (copy) store(copy + at + column, sum);
        }
    }
    __syncthreads();
    for (int column = threadIdx.x; column < HIDDEN; column += NORM_TEAMS * TEAM) {
        float sum = 0.0f;
        for (int i = 0; i < NORM_TEAMS; ++i) sum += sums[i][column];
        partials[(size_t)blockIdx.x * HIDDEN + column] = sum;
    }
}

// Sums the partial rows of every norm: a block takes 32 columns of one norm, each of its teams every eighth row.
constexpr int PARTIAL_TEAMS = 8;

KERNEL norm_gradients(const float* partials, float* gradients, int rows) {
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
        gradients[norm * HIDDEN + column] = sum;
    }
}
