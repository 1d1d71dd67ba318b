// How often each number occurs. One thread counts one number.
extern "C" __global__ void reference(
        const int* tokens, double* counts, int n, int bins) {
    int bin = blockIdx.x * blockDim.x + threadIdx.x;
    if (bin < bins) {
        int count = 0;
        for (int i = 0; i < n; i++) {
            count += tokens[i] == bin;
        }
        counts[bin] = count;
    }
}
