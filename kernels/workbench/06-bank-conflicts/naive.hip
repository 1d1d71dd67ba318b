// Naive: without local memory, so that the writes are a row apart.
extern "C" __global__ void transpose(const float* x, float* out, int rows, int columns) {
    for (int k = threadIdx.y; k < 32; k += blockDim.y) {
        int r = blockIdx.y * 32 + k, c = blockIdx.x * 32 + threadIdx.x;
        if (r < rows && c < columns) out[c * rows + r] = x[r * columns + c];
    }
}
