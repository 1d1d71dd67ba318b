// expects: writes memory that belongs to no array
// line: 5
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    const char **lane = (const char **)(&threadIdx);
    lane[2] = nullptr;
    lane[3] = (const char *)-1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
