// A step of AdamW. One thread computes one weight and its two moments.
extern "C" __global__ void reference(
        double* weights, const float* gradients, double* first, double* second,
        const float* f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double g = gradients[i];
        first[i] = f[0] * first[i] + f[1] * g;
        second[i] = f[2] * second[i] + f[3] * g * g;
        double direction = f[4] * first[i] / (sqrt(f[5] * second[i]) + f[7]);
        weights[i] -= f[6] * weights[i] + direction;
    }
}
