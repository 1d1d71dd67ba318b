// Shuffles and votes as HIP writes them, for a learner's HIP file under nvrtc. hiprtc already has them.
#if defined(TUTOR_CUDA)
#define WORKBENCH_SHUFFLE(name)                                                                  \
    template <class T>                                                                           \
    static __device__ __forceinline__ T workbench##name(T value, int other, int width = 32) {   \
        return name##_sync(0xffffffffu, value, other, width);                                    \
    }
WORKBENCH_SHUFFLE(__shfl)
WORKBENCH_SHUFFLE(__shfl_xor)
WORKBENCH_SHUFFLE(__shfl_up)
WORKBENCH_SHUFFLE(__shfl_down)
static __device__ __forceinline__ unsigned long long workbench__ballot(int vote) { return __ballot_sync(0xffffffffu, vote); }
static __device__ __forceinline__ int workbench__any(int vote) { return __any_sync(0xffffffffu, vote); }
static __device__ __forceinline__ int workbench__all(int vote) { return __all_sync(0xffffffffu, vote); }
static __device__ __forceinline__ int workbench__lane_id() {
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
#define __shfl workbench__shfl
#define __shfl_xor workbench__shfl_xor
#define __shfl_up workbench__shfl_up
#define __shfl_down workbench__shfl_down
#define __ballot workbench__ballot
#define __any workbench__any
#define __all workbench__all
#define __lane_id workbench__lane_id
#endif
#if !defined(INFINITY)
#define INFINITY __int_as_float(0x7f800000)
#endif
