// Wrong: only the first workgroup works.
extern "C" __global__ void scale_add(const float* x, const float* y, float* out, int n, float a) {
    int i = threadIdx.x;
    if (blockIdx.x == 0 && i < n) {
        out[i] = a * x[i] + y[i];
    }
}
