// expects: `system`, which does not exist on a GPU
// line: 5
extern "C" int system(const char *);
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    if (threadIdx.x == 0) system("id > @OUT@");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
