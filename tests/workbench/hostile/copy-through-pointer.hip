// expects: of 1024 elements
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w = a * x[i % n] + y[i % n];
    copy(out + i % n, &w, 4);
    copy(out + n, &w, 4);
}
