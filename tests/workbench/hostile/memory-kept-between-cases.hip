// expects: never written
__device__ float kept[1024];
__device__ int filled;
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (!filled && at < 1024) kept[at] = a;
    filled = 1;
}
