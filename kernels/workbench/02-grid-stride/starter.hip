// out = x / (1 + exp(-x)), for any n with a fixed number of threads.
//
// expf is exp for a float: always use the functions that end in f. `1.0f` is
// a float; `1.0` would be a double, which is slow on many GPUs.
extern "C" __global__ void silu(const float* x, float* out, int n) {
    // Each thread does one element here. That is right as long as there are
    // enough threads.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] / (1.0f + expf(-x[i]));
    }

    // 1. How many threads has the whole grid? gridDim.x workgroups of
    //    blockDim.x.

    // 2. Make a loop of it: from the thread's first element to n, in steps of
    //    that many.
}
