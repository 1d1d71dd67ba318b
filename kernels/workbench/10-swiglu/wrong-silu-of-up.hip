// Wrong: the activation is applied to the other half.
extern "C" __global__ void swiglu(const float* gate_up, float* out, int rows, int width) {
    const float* up = gate_up + blockIdx.x * 2 * width;
    const float* gate = up + width;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float g = gate[c];
        out[blockIdx.x * width + c] = g / (1.0f + expf(-g)) * up[c];
    }
}
