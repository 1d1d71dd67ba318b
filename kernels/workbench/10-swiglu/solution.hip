// out[r][c] = silu(gate[r][c]) * up[r][c], with gate and up side by side in
// each row of gate_up: one workgroup a row.
extern "C" __global__ void swiglu(
        const float* gate_up, float* out, int rows, int width) {
    const float* gate = gate_up + blockIdx.x * 2 * width;
    const float* up = gate + width;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float g = gate[c];
        out[blockIdx.x * width + c] = g / (1.0f + expf(-g)) * up[c];
    }
}
