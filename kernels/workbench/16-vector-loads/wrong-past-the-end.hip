// Wrong: the last group reaches past the end where n is no multiple of 4.
extern "C" __global__ void scale_add(const float* x, const float* y, float* out, int n, float a) {
    const float4* xs = reinterpret_cast<const float4*>(x);
    const float4* ys = reinterpret_cast<const float4*>(y);
    float4* outs = reinterpret_cast<float4*>(out);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) {
        float4 u = xs[i];
        float4 v = ys[i];
        outs[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    }
}
