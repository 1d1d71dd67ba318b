// The k largest of every row with their places, one workgroup a row.
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

        // The best of the wavefront: exchange both best and place.

        // The best of the workgroup, through parts and part_places.

        last = best;
        last_place = place;
        if (threadIdx.x == 0) {
            values[blockIdx.x * k + round] = best;
            places[blockIdx.x * k + round] = place;
        }
    }
}
