// The mean of the values, weighted by the softmax of a row's scores. One thread
// computes one row, which is a column of the array.
extern "C" __global__ void reference(
        const float* scores, const float* values, double* out, int rows, int keys) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double largest = -INFINITY, sum = 0, weighted = 0;
        for (int key = 0; key < keys; key++) {
            largest = fmax(largest, (double)scores[key * rows + row]);
        }
        for (int key = 0; key < keys; key++) {
            double share = exp(scores[key * rows + row] - largest);
            sum += share;
            weighted += share * values[key];
        }
        out[row] = weighted / sum;
    }
}
