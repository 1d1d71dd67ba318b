// expects: `__tls_get_addr`, which does not exist on a GPU
// line: 5
volatile thread_local int hidden;
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    hidden = n;
    if (hidden < 0) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
