// out = silu(gate) * up, with both halves in one row. One thread computes one
// element.
extern "C" __global__ void reference(
        const float* gate_up, double* out, int rows, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * width) {
        int row = i / width, column = i % width;
        double gate = gate_up[row * 2 * width + column];
        double up = gate_up[row * 2 * width + width + column];
        out[i] = gate / (1 + exp(-gate)) * up;
    }
}
