// expects: own variables are too large
char room[3ul << 30];
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    room[threadIdx.x] = 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
