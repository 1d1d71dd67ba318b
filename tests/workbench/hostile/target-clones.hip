// expects: `__cpu_indicator_init`, which does not exist
extern "C" __attribute__((target_clones("avx2", "default"))) int number() { return 1; }
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    if (number() == 2) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
