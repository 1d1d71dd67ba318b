// expects: does not compile
__device__ thread_local int hidden;
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    hidden = n;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
