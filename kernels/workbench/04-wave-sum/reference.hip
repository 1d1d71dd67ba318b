// The sum of each `wave` elements. One thread computes one sum.
extern "C" __global__ void reference(
        const float* x, double* sums, int n, int wave) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w * wave < n) {
        double sum = 0;
        for (int i = w * wave; i < min(n, (w + 1) * wave); i++) {
            sum += x[i];
        }
        sums[w] = sum;
    }
}
