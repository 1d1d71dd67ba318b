// Wrong: nothing is rescaled when the maximum grows.
extern "C" __global__ void online_softmax(
        const float* scores, const float* values, float* out, int rows,
        int keys) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) {
        return;
    }
    float m = -INFINITY, l = 0.0f, o = 0.0f;
    for (int k = 0; k < keys; k++) {
        float score = scores[k * rows + r];
        float m_new = fmaxf(m, score);
        float p = expf(score - m_new);
        l = l + p;
        o = o + p * values[k];
        m = m_new;
    }
    out[r] = o / l;
}
