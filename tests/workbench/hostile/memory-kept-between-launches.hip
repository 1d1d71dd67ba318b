// expects: memory that belongs to no array
static float kept[1024];
static int filled;
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (!filled && at < 1024) kept[at] = a;
    filled = 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
