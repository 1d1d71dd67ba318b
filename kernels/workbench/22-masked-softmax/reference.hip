// Softmax over the first visible[row] scores of a row, and 0 for the others. One
// thread computes one row.
extern "C" __global__ void reference(
        const float* scores, const int* visible, double* p, int rows, int keys) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const float* own = scores + row * keys;
        double largest = -INFINITY, sum = 0;
        for (int i = 0; i < visible[row]; i++) {
            largest = fmax(largest, (double)own[i]);
        }
        for (int i = 0; i < visible[row]; i++) {
            sum += exp(own[i] - largest);
        }
        for (int i = 0; i < keys; i++) {
            bool is_visible = i < visible[row];
            p[row * keys + i] = is_visible ? exp(own[i] - largest) / sum : 0;
        }
    }
}
