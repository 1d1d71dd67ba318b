// out[r] = the mean of values, weighted by the softmax of row r: one thread a
// row, one pass. scores: [keys, rows].
extern "C" __global__ void online_softmax(
        const float* scores, const float* values, float* out, int rows,
        int keys) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) {
        return;
    }
    float m = -INFINITY;  // the largest score so far
    float l = 0.0f;       // the sum of exp(score - m)
    float o = 0.0f;       // the sum of exp(score - m) * value
    for (int k = 0; k < keys; k++) {
        float score = scores[k * rows + r];
        float m_new = fmaxf(m, score);
        // 1. l and o were measured against m. Which factor corrects that?

        // 2. Add exp(score - m_new) to l, and its product with values[k] to o.

        // 3. m_new is the maximum from now on.
    }
    out[r] = o / l;
}
