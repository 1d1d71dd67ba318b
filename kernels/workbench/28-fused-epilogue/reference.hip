// out = silu(gate) * up, where x w holds both halves in a row. One thread computes
// one element.
extern "C" __global__ void reference(
        const float* x, const float* w, double* out, int rows, int width, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * width) {
        int row = i / width, column = i % width;
        double gate = 0, up = 0;
        for (int q = 0; q < k; q++) {
            double one = x[row * k + q];
            gate += one * w[q * 2 * width + column];
            up += one * w[q * 2 * width + width + column];
        }
        out[i] = gate / (1 + exp(-gate)) * up;
    }
}
