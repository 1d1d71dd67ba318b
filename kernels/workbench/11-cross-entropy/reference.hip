// loss = log(sum(exp(logits))) - logit of the target, and the gradient of
// share * loss. One thread computes one row.
extern "C" __global__ void reference(
        const float* logits, const int* targets, double* losses, double* gradient,
        int rows, int classes, float share) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const float* own = logits + row * classes;
        double largest = -INFINITY, sum = 0;
        for (int i = 0; i < classes; i++) {
            largest = fmax(largest, (double)own[i]);
        }
        for (int i = 0; i < classes; i++) {
            sum += exp(own[i] - largest);
        }
        double log_sum = largest + log(sum);
        losses[row] = log_sum - own[targets[row]];
        for (int i = 0; i < classes; i++) {
            double hit = i == targets[row] ? 1 : 0;
            gradient[row * classes + i] = (exp(own[i] - log_sum) - hit) * share;
        }
    }
}
