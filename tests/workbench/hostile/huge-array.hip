// expects: passed
__device__ char room[1 << 29];
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    if (n < 0) room[threadIdx.x] = 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
