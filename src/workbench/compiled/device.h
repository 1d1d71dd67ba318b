// What HIP's headers give to device code, as far as these kernels need it: for compiling them with nothing installed but
// clang with its AMDGPU target. Mathematics are clang's own builtins, which AMD's libraries use too for these functions in
// f32; __hip_bfloat16 is clang's bf16.
#pragma once

typedef __SIZE_TYPE__ size_t;

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __align__(bytes) __attribute__((aligned(bytes)))
// As HIP defines it: clang ignores `launch_bounds` on AMD GPUs and would compile for 1024 threads.
#define TUTOR_BOUNDS1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define TUTOR_BOUNDS2(threads, waves) TUTOR_BOUNDS1(threads) __attribute__((amdgpu_waves_per_eu(waves)))
#define TUTOR_BOUNDS(one, two, name, ...) name
#ifdef TUTOR_NO_BOUNDS
#define __launch_bounds__(...)
#else
#define __launch_bounds__(...) TUTOR_BOUNDS(__VA_ARGS__, TUTOR_BOUNDS2, TUTOR_BOUNDS1)(__VA_ARGS__)
#endif
#define __forceinline__ inline __attribute__((always_inline))
// Without lines of their own (`nodebug`), the instructions of these functions belong to the line that calls them.
#define TUTOR_DEVICE __device__ static inline __attribute__((always_inline, nodebug))

// The compiler makes loops of these where it does not know the size.
TUTOR_DEVICE void *memcpy(void *to, const void *from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
TUTOR_DEVICE void *memmove(void *to, const void *from, size_t bytes) { return __builtin_memmove(to, from, bytes); }
TUTOR_DEVICE void *memset(void *to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }

// threadIdx and its like: three members, each read from its register when used.
#define TUTOR_COORDINATES(type, name, X, Y, Z)                                                              \
    struct type {                                                                                           \
        __declspec(property(get = get_x)) unsigned x;                                                       \
        __declspec(property(get = get_y)) unsigned y;                                                       \
        __declspec(property(get = get_z)) unsigned z;                                                       \
        TUTOR_DEVICE unsigned get_x() { return X; }                                                         \
        TUTOR_DEVICE unsigned get_y() { return Y; }                                                         \
        TUTOR_DEVICE unsigned get_z() { return Z; }                                                         \
    };                                                                                                      \
    extern const __device__ __attribute__((weak)) type name;
TUTOR_COORDINATES(TutorThreadIdx, threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                  __builtin_amdgcn_workitem_id_z())
TUTOR_COORDINATES(TutorBlockIdx, blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                  __builtin_amdgcn_workgroup_id_z())
#ifdef TUTOR_SIZES
// For a compiler's own form, which is read and never run: sizes under names.
#define TUTOR_SIZE(name) extern "C" __attribute__((device, const)) unsigned name();
TUTOR_SIZE(__tutor_block_size_x) TUTOR_SIZE(__tutor_block_size_y) TUTOR_SIZE(__tutor_block_size_z)
TUTOR_SIZE(__tutor_grid_size_x) TUTOR_SIZE(__tutor_grid_size_y) TUTOR_SIZE(__tutor_grid_size_z)
TUTOR_COORDINATES(TutorBlockDim, blockDim, __tutor_block_size_x(), __tutor_block_size_y(), __tutor_block_size_z())
TUTOR_COORDINATES(TutorGridDim, gridDim, __tutor_grid_size_x(), __tutor_grid_size_y(), __tutor_grid_size_z())
#else
TUTOR_COORDINATES(TutorBlockDim, blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_workgroup_size_z())
TUTOR_COORDINATES(TutorGridDim, gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
                  __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
#endif
// A constant, as AMD's own compiler has it: clang's builtin becomes one only after loops over it were to be unrolled.
#ifdef __GFX9__
#define warpSize 64
#else
#define warpSize 32
#endif

TUTOR_DEVICE void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
TUTOR_DEVICE int __lane_id() { return (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
template <class T>
TUTOR_DEVICE T __shfl(T value, int lane, int width = warpSize) {
    static_assert(sizeof(T) == 4, "only 32-bit values are exchanged here");
    int source = (__lane_id() & ~(width - 1)) | (lane & (width - 1));
    return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(source << 2, __builtin_bit_cast(int, value)));
}
template <class T>
TUTOR_DEVICE T __shfl_xor(T value, int mask, int width = warpSize) {
    static_assert(sizeof(T) == 4, "only 32-bit values are exchanged here");
    int self = __lane_id(), source = self ^ mask;
    source = source >= ((self + width) & ~(width - 1)) ? self : source;
    return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(source << 2, __builtin_bit_cast(int, value)));
}

TUTOR_DEVICE float exp(float x) { return __builtin_elementwise_exp(x); }
TUTOR_DEVICE float log(float x) { return __builtin_elementwise_log(x); }
TUTOR_DEVICE float sqrt(float x) { return __builtin_elementwise_sqrt(x); }
TUTOR_DEVICE float rsqrt(float x) { return __builtin_amdgcn_rsqf(x); }
TUTOR_DEVICE float fma(float x, float y, float z) { return __builtin_elementwise_fma(x, y, z); }
TUTOR_DEVICE float max(float x, float y) { return __builtin_elementwise_max(x, y); }
TUTOR_DEVICE float min(float x, float y) { return __builtin_elementwise_min(x, y); }
TUTOR_DEVICE unsigned max(unsigned x, unsigned y) { return x < y ? y : x; }
TUTOR_DEVICE unsigned min(unsigned x, unsigned y) { return x < y ? x : y; }
TUTOR_DEVICE int max(int x, int y) { return x < y ? y : x; }
TUTOR_DEVICE int min(int x, int y) { return x < y ? x : y; }

typedef _Float16 __half;
typedef __bf16 __hip_bfloat16;
