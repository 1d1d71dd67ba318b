// expects: crash
struct Base { virtual void go() {} };
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    Base base;
    void *table[4] = {out, out, out, out};
    *reinterpret_cast<void **>(&base) = table;
    Base *volatile any = &base;
    any->go();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
