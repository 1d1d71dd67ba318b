// expects: which does not exist on a GPU
struct Last { ~Last(); };
Last::~Last() {}
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    static Last last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
