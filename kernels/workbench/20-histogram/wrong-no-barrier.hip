// Wrong: a fast wavefront counts before a slow one has set its counters to zero.
extern "C" __global__ void histogram(const int* tokens, int* counts, int n, int bins) {
    __shared__ int own[256];
    // Nobody waits for the zeros.
    own[threadIdx.x] = 0;
    int end = min(n, (int)(blockIdx.x * 1024 + 1024));
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 256) {
        atomicAdd(&own[tokens[i]], 1);
    }
    __syncthreads();
    if (threadIdx.x < bins) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
