// expects: `write`, which does not exist on a GPU
// line: 3
extern "C" __attribute__((weak)) long write(int, const void *, unsigned long);
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    for (;;) write(1, x, 4096);
}
