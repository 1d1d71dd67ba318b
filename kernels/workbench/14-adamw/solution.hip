// One step of AdamW for n parameters, in place.
extern "C" __global__ void adamw(
        float* weights, const float* gradients, float* first, float* second,
        const float* factors, int n) {
    float keep_first = factors[0], add_first = factors[1];
    float keep_second = factors[2], add_second = factors[3];
    float rate = factors[4], correction = factors[5];
    float decay = factors[6], epsilon = factors[7];

    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float g = gradients[i];
        float w = weights[i];
        float m = keep_first * first[i] + add_first * g;
        float v = keep_second * second[i] + add_second * g * g;
        first[i] = m;
        second[i] = v;
        float direction = m / (sqrtf(correction * v) + epsilon);
        weights[i] = w - (decay * w + rate * direction);
    }
}
