// Wrong: the number is exchanged and its place is not.
// Whether a at place i comes before b at place j.
__device__ bool before(float a, int i, float b, int j) {
    return a > b || (a == b && i < j);
}

extern "C" __global__ void top_k(
        const float* logits, float* values, int* places,
        int rows, int classes, int k) {
    __shared__ float parts[32];
    __shared__ int part_places[32];
    const float* row = logits + blockIdx.x * classes;
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;
    float last = INFINITY;
    int last_place = -1;

    for (int round = 0; round < k; round++) {
        float best = -INFINITY;
        int place = classes;
        for (int c = threadIdx.x; c < classes; c += blockDim.x) {
            float v = row[c];
            if (before(last, last_place, v, c) && before(v, c, best, place)) {
                best = v;
                place = c;
            }
        }
        for (int d = warpSize / 2; d > 0; d /= 2) {
            float other = __shfl_xor(best, d);
            int other_place = __shfl_xor(place, d);
            if (before(other, other_place, best, place)) {
                best = other;
            }
        }
        // Others may still read the pairs of the round before.
        __syncthreads();
        if (lane == 0) {
            parts[wave] = best;
            part_places[wave] = place;
        }
        __syncthreads();
        for (int w = 0; w < blockDim.x / warpSize; w++) {
            if (before(parts[w], part_places[w], best, place)) {
                best = parts[w];
                place = part_places[w];
            }
        }
        last = best;
        last_place = place;
        if (threadIdx.x == 0) {
            values[blockIdx.x * k + round] = best;
            places[blockIdx.x * k + round] = place;
        }
    }
}
