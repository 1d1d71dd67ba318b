// Wrong: the gradient that reaches the sum directly is left out.
__device__ float wave_sum(float v) {
    for (int d = warpSize / 2; d > 0; d /= 2) {
        v += __shfl_xor(v, d);
    }
    return v;
}

// The sum over the workgroup, which every thread gets. It can be called again and again.
__device__ float block_sum(float v) {
    __shared__ float parts[32];
    v = wave_sum(v);
    // Other threads may still read the parts of the call before.
    __syncthreads();
    if (threadIdx.x % warpSize == 0) {
        parts[threadIdx.x / warpSize] = v;
    }
    __syncthreads();
    float total = 0.0f;
    int waves = blockDim.x / warpSize;
    for (int w = 0; w < waves; w++) {
        total += parts[w];
    }
    return total;
}

extern "C" __global__ void add_rmsnorm(const float* x, const float* residual, const float* weight, float* sum, float* y,
                                       float* scale, int rows, int width, float epsilon) {
    int at = blockIdx.x * width;
    float squares = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float v = x[at + c] + residual[at + c];
        sum[at + c] = v;
        squares += v * v;
    }

    float k = rsqrtf(block_sum(squares) / width + epsilon);
    if (threadIdx.x == 0) {
        scale[blockIdx.x] = k;
    }

    // Each thread reads back what it wrote itself.
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        y[at + c] = sum[at + c] * k * weight[c];
    }
}

extern "C" __global__ void add_rmsnorm_backward(const float* sum, const float* weight, const float* scale,
                                                const float* sum_gradient, const float* y_gradient, float* x_gradient,
                                                float* partials, int rows, int width, int parts) {
    // Each thread has its own columns, and no other uses their places here.
    extern __shared__ float columns[];
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        columns[c] = 0.0f;
    }

    for (int row = blockIdx.x; row < rows; row += parts) {
        int at = row * width;
        float k = scale[row];
        float dot = 0.0f;
        for (int c = threadIdx.x; c < width; c += blockDim.x) {
            dot += y_gradient[at + c] * weight[c] * sum[at + c] * k;
        }
        float mean = block_sum(dot) / width;
        for (int c = threadIdx.x; c < width; c += blockDim.x) {
            float n = sum[at + c] * k;
            float dy = y_gradient[at + c];
            x_gradient[at + c] = k * (dy * weight[c] - n * mean);
            columns[c] += dy * n;
        }
    }

    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        partials[blockIdx.x * width + c] = columns[c];
    }
}

extern "C" __global__ void sum_partials(const float* partials, float* weight_gradient, int parts, int width) {
    __shared__ float rows_of[8][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    float total = 0.0f;
    if (c < width) {
        for (int p = threadIdx.y; p < parts; p += 8) {
            total += partials[p * width + c];
        }
    }
    rows_of[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y == 0 && c < width) {
        for (int y = 1; y < 8; y++) {
            total += rows_of[y][threadIdx.x];
        }
        weight_gradient[c] = total;
    }
}
