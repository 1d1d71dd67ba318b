// Wrong: workgroups run at the same time, and lose each other's counts.
extern "C" __global__ void histogram(const int* tokens, int* counts, int n, int bins) {
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    int end = min(n, (int)(blockIdx.x * 1024 + 1024));
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 256) {
        atomicAdd(&own[tokens[i]], 1);
    }
    __syncthreads();
    if (threadIdx.x < bins) counts[threadIdx.x] += own[threadIdx.x];
}
