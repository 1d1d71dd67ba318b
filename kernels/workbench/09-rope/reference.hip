// Each pair of x is turned by the angle of its position. One thread turns one
// pair. A row of the table holds cosine and sine of each pair.
extern "C" __global__ void reference(
        const float* x, const float* table, double* y, int rows, int heads,
        int head_dim, int sequence) {
    int at = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (at < rows * heads * head_dim) {
        int position = at / (heads * head_dim) % sequence;
        const float* angle = table + position * head_dim + at % head_dim;
        double a = x[at], b = x[at + 1], cosine = angle[0], sine = angle[1];
        y[at] = a * cosine - b * sine;
        y[at + 1] = a * sine + b * cosine;
    }
}
