// counts[t] = how many tokens are t; at most 256 different ones.
extern "C" __global__ void histogram(
        const int* tokens, int* counts, int n, int bins) {
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();

    for (int j = 0; j < 1024; j += 256) {
        int i = blockIdx.x * 1024 + j + threadIdx.x;
        if (i < n) {
            atomicAdd(&own[tokens[i]], 1);
        }
    }
    __syncthreads();

    if (threadIdx.x < bins) {
        atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
    }
}
