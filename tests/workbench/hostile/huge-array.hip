// expects: own variables take 512 MiB, most of it `room`
// line: 3
char room[512ul << 20];
extern "C" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {
    room[threadIdx.x] = 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
