// Steps of largest / 127 in bytes, four in a word, the first one lowest. One thread
// computes one row.
extern "C" __global__ void reference(
        const float* x, double* packed, double* scales, int rows, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double largest = 0;
        for (int i = 0; i < width; i++) {
            largest = fmax(largest, fabs((double)x[row * width + i]));
        }
        double scale = largest / 127;
        scales[row] = scale;
        for (int i = 0; i < width; i += 4) {
            unsigned word = 0;
            for (int j = 0; j < 4; j++) {
                double step = scale > 0 ? rint(x[row * width + i + j] / scale) : 0;
                word |= ((unsigned)(int)step & 255) << (8 * j);
            }
            packed[(row * width + i) / 4] = (int)word;
        }
    }
}
