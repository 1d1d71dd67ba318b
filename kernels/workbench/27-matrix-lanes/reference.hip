// c = a b. One thread computes one element.
extern "C" __global__ void reference(
        const float* a, const float* b, double* c, int m, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m * n) {
        int row = i / n, column = i % n;
        double sum = 0;
        for (int q = 0; q < k; q++) {
            sum += (double)a[row * k + q] * b[q * n + column];
        }
        c[i] = sum;
    }
}
