// sum = x + residual, y = rmsnorm(sum) * weight, and the gradients of both.
__device__ float wave_sum(float v) {
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
    return v;
}

// The sum over the workgroup, which every thread gets.
__device__ float block_sum(float v) {
    __shared__ float parts[32];
    v = wave_sum(v);
    if (threadIdx.x % warpSize == 0) {
        parts[threadIdx.x / warpSize] = v;
    }
    __syncthreads();
    float total = 0.0f;
    int waves = blockDim.x / warpSize;
    for (int w = 0; w < waves; w++) {
        total += parts[w];
    }
    // 1. Backward calls this once for every row. Is it safe to call it again
    //    at once?
    return total;
}

// One workgroup a row, as in the exercise before.
extern "C" __global__ void add_rmsnorm(
        const float* x, const float* residual, const float* weight,
        float* sum, float* y, float* scale, int rows, int width,
        float epsilon) {
    int at = blockIdx.x * width;

    // 2. Write the sum, and add up its squares.
    float squares = 0.0f;

    // 3. The scale of the row; then y. A thread may read what it has
    //    written itself.
    float k = rsqrtf(block_sum(squares) / width + epsilon);
}

// Workgroup p takes rows p, p + parts, p + 2 * parts ...
extern "C" __global__ void add_rmsnorm_backward(
        const float* sum, const float* weight, const float* scale,
        const float* sum_gradient, const float* y_gradient, float* x_gradient,
        float* partials, int rows, int width, int parts) {
    // LDS whose size the launch decides: `width` floats. Each thread uses the
    // places of its own columns.
    extern __shared__ float columns[];
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        columns[c] = 0.0f;
    }

    for (int row = blockIdx.x; row < rows; row += parts) {
        // 4. mean(g * n) over the row: a loop, then block_sum.

        // 5. x_gradient, and what the row adds to each column.
    }

    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        partials[blockIdx.x * width + c] = columns[c];
    }
}

// A workgroup takes 32 columns. It is 32 threads wide and 8 high.
extern "C" __global__ void sum_partials(
        const float* partials, float* weight_gradient, int parts, int width) {
    // 6. Thread (x, y) adds up rows y, y + 8, y + 16 ... of its column. Then
    //    the eight of a column meet in LDS.
}
