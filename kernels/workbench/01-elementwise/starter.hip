// out = a * x + y, one element for each thread.
//
// This file is HIP C++. `__global__` marks a kernel: the function that every
// thread runs. `const float* x` is an array of floats to read from; `x[i]` is
// its element i, as in Python, but nothing checks that i is inside the array.
extern "C" __global__ void scale_add(
        const float* x, const float* y, float* out, int n, float a) {
    // 1. Which element is this thread's? Work it out from blockIdx.x,
    //    blockDim.x and threadIdx.x.
    int i = 0;

    // 2. Is there such an element? The last workgroup has more threads than
    //    elements are left.

    // 3. Compute it, and write it to out[i].
}
