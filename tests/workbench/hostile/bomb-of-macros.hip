// expects: the compiler
#define M0 +1
#define M1 M0 M0 M0 M0 M0 M0 M0 M0 M0 M0
#define M2 M1 M1 M1 M1 M1 M1 M1 M1 M1 M1
#define M3 M2 M2 M2 M2 M2 M2 M2 M2 M2 M2
#define M4 M3 M3 M3 M3 M3 M3 M3 M3 M3 M3
#define M5 M4 M4 M4 M4 M4 M4 M4 M4 M4 M4
#define M6 M5 M5 M5 M5 M5 M5 M5 M5 M5 M5
#define M7 M6 M6 M6 M6 M6 M6 M6 M6 M6 M6
#define M8 M7 M7 M7 M7 M7 M7 M7 M7 M7 M7
#define M9 M8 M8 M8 M8 M8 M8 M8 M8 M8 M8
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    if (n == 0 M9) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
