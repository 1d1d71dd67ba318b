// Kernels of the driver layer's self-test. They are CUDA C++ and HIP C++ at once and need no header.

// y = a x + y
extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

// saxpy that may start before the previous kernel has ended.
extern "C" __global__ void saxpy_overlapping(float a, const float *x, float *y, unsigned n) {
#if defined(TUTOR_CUDA) && TUTOR_SM >= 90
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

// Reverses each block's part of x through shared memory of `words` floats.
extern "C" __global__ void reverse(const float *x, float *y, unsigned words) {
    extern __shared__ float shared[];
    unsigned base = blockIdx.x * words;
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = x[base + i];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) y[base + i] = shared[words - 1 - i];
}

// Sums a table that is passed by value.
struct Table { float numbers[64]; };
extern "C" __global__ void sum_table(Table table, float *sum) {
    float total = 0.0f;
    for (int i = 0; i < 64; i++) total += table.numbers[i];
    *sum = total;
}
