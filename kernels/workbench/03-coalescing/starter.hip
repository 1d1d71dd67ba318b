// out[r][c] = x[r][c] + bias[c].
extern "C" __global__ void add_bias(
        const float* x, const float* bias, float* out, int rows, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * width) {
        // Right, but slow: threads 0, 1, 2 ... take rows 0, 1, 2 ... of
        // column 0. Which elements should they take, so that neighbouring
        // threads read neighbouring numbers?
        int r = i % rows;
        int c = i / rows;
        out[r * width + c] = x[r * width + c] + bias[c];
    }
}
