// expects: undeclared identifier
// line: 4
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    out[0] = nothing; // [31m]0;owned 31m ‮
}
