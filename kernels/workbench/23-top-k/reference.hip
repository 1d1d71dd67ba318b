// The k largest of a row and their places. Of equal ones the first comes first.
// One thread computes one row.
extern "C" __global__ void reference(
        const float* logits, double* values, double* places, int rows, int classes,
        int k) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const float* own = logits + row * classes;
        // The one before: all that follow are smaller, or equal and further on.
        float value = INFINITY;
        int place = -1;
        for (int found = 0; found < k; found++) {
            int best = -1;
            for (int i = 0; i < classes; i++) {
                bool follows = own[i] < value || (own[i] == value && i > place);
                if (follows && (best < 0 || own[i] > own[best])) {
                    best = i;
                }
            }
            place = best;
            value = own[best];
            values[row * k + found] = value;
            places[row * k + found] = place;
        }
    }
}
