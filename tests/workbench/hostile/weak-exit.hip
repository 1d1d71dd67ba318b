// expects: `_exit`, which does not exist on a GPU
// line: 3
extern "C" __attribute__((weak)) void _exit(int);
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    _exit(0);
}
