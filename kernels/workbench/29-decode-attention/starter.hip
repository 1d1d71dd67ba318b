// One query a head over cached keys and values: one workgroup a head.
extern "C" __global__ void decode_attention(
        const float* q, const float* keys, const float* values, float* out,
        int heads, int length, float scale) {
    __shared__ float all_m[8];
    __shared__ float all_l[8];
    __shared__ float all_acc[8][64];
    int lane = threadIdx.x % warpSize;
    int wave = threadIdx.x / warpSize;
    int waves = blockDim.x / warpSize;
    const float* query = q + blockIdx.x * 64;
    const float* cached_keys = keys + blockIdx.x * length * 64;
    const float* cached_values = values + blockIdx.x * length * 64;

    // This wavefront's keys. A lane has feature lane, and with waves of 32
    // also feature lane + 32.
    float own_m = -INFINITY, own_l = 0.0f, acc[2] = {0.0f, 0.0f};
    for (int j = wave; j < length; j += waves) {
        float score = 0.0f;
        for (int f = lane; f < 64; f += warpSize) {
            score += query[f] * cached_keys[j * 64 + f];
        }
        for (int d = warpSize / 2; d > 0; d /= 2) {
            score += __shfl_xor(score, d);
        }
        score *= scale;
        float larger = fmaxf(own_m, score);
        float shrink = expf(own_m - larger);
        float share = expf(score - larger);
        own_m = larger;
        own_l = own_l * shrink + share;
        for (int f = lane, i = 0; f < 64; f += warpSize, i++) {
            acc[i] = acc[i] * shrink + share * cached_values[j * 64 + f];
        }
    }

    // 1. Put own_m, own_l and acc of this wavefront into LDS.

    // 2. The first 64 threads combine the wavefronts, one feature each.
    if (threadIdx.x < 64) {
        out[blockIdx.x * 64 + threadIdx.x] = acc[0] / own_l;
    }
}
