// c = a b, and the die of each tile: every die has tiles that follow each other,
// and the first dies have one more if they do not divide. One thread computes one
// element and one tile.
extern "C" __global__ void reference(
        const float* a, const float* b, double* c, double* die, int m, int n, int k,
        int xcds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m * n) {
        int row = i / n, column = i % n;
        double sum = 0;
        for (int q = 0; q < k; q++) {
            sum += (double)a[row * k + q] * b[q * n + column];
        }
        c[i] = sum;
    }
    int tiles = (m + 15) / 16 * ((n + 15) / 16);
    if (i < tiles) {
        int own = 0, end = 0;
        for (int one = 0; one < xcds; one++) {
            end += tiles / xcds + (one < tiles % xcds);
            own += i >= end;
        }
        die[i] = own;
    }
}
