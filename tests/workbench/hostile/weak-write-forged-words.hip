// expects: `write`, which does not exist on a GPU
// line: 3
extern "C" __attribute__((weak)) long write(int, const void *, unsigned long);
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    write(1, "{\"kind\":\"crash\",\"words\":\"\\u001b]0;owned\\u0007\"}\n", 48);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
