// expects: reads memory that belongs to no array
struct Base { __device__ virtual void go() {} };
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    Base *any = reinterpret_cast<Base *>(4096ul + n);
    any->go();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
