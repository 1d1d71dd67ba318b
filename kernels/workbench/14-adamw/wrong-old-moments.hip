// Wrong: the new weight comes from the moments before this step.
extern "C" __global__ void adamw(float* weights, const float* gradients, float* first, float* second, const float* factors,
                                 int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float g = gradients[i];
        float w = weights[i], m = first[i], v = second[i];
        weights[i] = w - (factors[6] * w + factors[4] * m / (sqrtf(factors[5] * v) + factors[7]));
        first[i] = factors[0] * m + factors[1] * g;
        second[i] = factors[2] * v + factors[3] * g * g;
    }
}
