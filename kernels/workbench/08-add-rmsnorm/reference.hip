// 1 / sqrt(mean((x + residual)^2) + epsilon) of a row.
__device__ double scale_of(
        const float* x, const float* residual, int width, float epsilon) {
    double squares = 0;
    for (int i = 0; i < width; i++) {
        double one = (double)x[i] + residual[i];
        squares += one * one;
    }
    return 1 / sqrt(squares / width + epsilon);
}

// The norm of x + residual, forward and backward. One thread computes one row,
// and one column of the weight's gradient.
extern "C" __global__ void reference(
        const float* x, const float* residual, const float* weight, double* sum,
        double* y, double* scale, const float* sum_gradient,
        const float* y_gradient, double* x_gradient, double* weight_gradient,
        int rows, int width, float epsilon) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < rows) {
        int first = index * width;
        double own = scale_of(x + first, residual + first, width, epsilon);
        scale[index] = own;
        // The mean of normalised element times its gradient.
        double mean = 0;
        for (int i = 0; i < width; i++) {
            int at = first + i;
            sum[at] = (double)x[at] + residual[at];
            y[at] = sum[at] * own * weight[i];
            mean += sum[at] * own * weight[i] * y_gradient[at] / width;
        }
        for (int i = 0; i < width; i++) {
            int at = first + i;
            double normalised = sum[at] * own;
            double part = (double)weight[i] * y_gradient[at] - normalised * mean;
            x_gradient[at] = sum_gradient[at] + own * part;
        }
    }
    if (index < width) {
        double gradient = 0;
        for (int row = 0; row < rows; row++) {
            int first = row * width, at = first + index;
            double own = scale_of(x + first, residual + first, width, epsilon);
            gradient += ((double)x[at] + residual[at]) * own * y_gradient[at];
        }
        weight_gradient[index] = gradient;
    }
}
