// Wrong: 32 lanes form two groups, and hold eight results each.

// Adds a product to d: [16, groups] by [groups, 16], where groups is the
// number of lanes / 16. Each lane brings one number of both factors and holds
// 16 / groups numbers of d.
__device__ void multiply_add(float a, float b, float* d) {
#if defined(__gfx90a__) || defined(__gfx942__)
    typedef float Four __attribute__((ext_vector_type(4)));
    Four sum = {d[0], d[1], d[2], d[3]};
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, sum, 0, 0, 0);
    for (int i = 0; i < 4; i++) {
        d[i] = sum[i];
    }
#else
    int lane = threadIdx.x;
    int groups = warpSize / 16;
    int held = 16 / groups;
    for (int i = 0; i < held; i++) {
        for (int q = 0; q < groups; q++) {
            float of_row = __shfl(a, lane / 16 * held + i + 16 * q);
            float of_column = __shfl(b, lane % 16 + 16 * q);
            d[i] += of_row * of_column;
        }
    }
#endif
}

extern "C" __global__ void matmul(
        const float* a, const float* b, float* c, int m, int n, int k) {
    int lane = threadIdx.x;
    int g = lane / 16;
    int groups = 4;
    int held = 16 / groups;
    int row = blockIdx.y * 16;
    int column = blockIdx.x * 16;

    float d[8] = {};
    for (int q = 0; q < k; q += groups) {
        float own_a = a[(row + lane % 16) * k + q + g];
        float own_b = b[(q + g) * n + column + lane % 16];
        multiply_add(own_a, own_b, d);
    }
    for (int i = 0; i < held; i++) {
        c[(row + held * g + i) * n + column + lane % 16] = d[i];
    }
}
