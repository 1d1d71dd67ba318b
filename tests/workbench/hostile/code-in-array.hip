// expects: the compiler fails at this file
__attribute__((section(".text"))) static const unsigned char code[] = {0xb8, 0x3c, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05};
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    reinterpret_cast<void (*)()>(reinterpret_cast<unsigned long>(code))();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
