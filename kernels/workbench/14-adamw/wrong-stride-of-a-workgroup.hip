// Wrong: steps of one workgroup, so that several workgroups update the same later elements, one after the other.
extern "C" __global__ void adamw(float* weights, const float* gradients, float* first, float* second, const float* factors,
                                 int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) {
        float g = gradients[i];
        float w = weights[i];
        float m = factors[0] * first[i] + factors[1] * g;
        float v = factors[2] * second[i] + factors[3] * g * g;
        first[i] = m;
        second[i] = v;
        weights[i] = w - (factors[6] * w + factors[4] * m / (sqrtf(factors[5] * v) + factors[7]));
    }
}
