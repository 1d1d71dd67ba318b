// The device side of HIP, on a CPU. It is included before the text of a kernel, which is then compiled for this
// machine.
//
// It covers the code that cubecl's generator emits and that this project's hand-written kernels use. A missing feature
// is a compile error, never a wrong result.
#pragma once

#include "abi.h"

#define STAND_IN_UNCHECKED __attribute__((no_sanitize("kernel-address")))
#define STAND_IN_INLINE static inline __attribute__((always_inline)) STAND_IN_UNCHECKED
// For functions that only compiler-generated instructions call, which the compiler does not count as uses.
#define STAND_IN_CALLBACK __attribute__((used, visibility("hidden"))) STAND_IN_UNCHECKED
// A barrier or shuffle must stay one place in the code, because the place determines which lanes meet.
#define STAND_IN_MEETING static __attribute__((noinline, convergent, noduplicate)) STAND_IN_UNCHECKED

namespace stand_in {
extern "C" {
__attribute__((visibility("hidden"))) inline const Runtime *hip_stand_in_runtime = nullptr;
__attribute__((visibility("hidden"))) inline Lane *hip_stand_in_lane = nullptr;
__attribute__((visibility("hidden"))) inline Grid hip_stand_in_grid = {};
}
}  // namespace stand_in

// Every load and store of the kernel calls one of these first (-fsanitize=kernel-address with outlined checks).
#define STAND_IN_ACCESS(bytes)                                                                              \
    extern "C" STAND_IN_CALLBACK void __asan_load##bytes##_noabort(const char *address) {           \
        stand_in::checked(address, bytes, stand_in::Access::Read);                                          \
    }                                                                                                       \
    extern "C" STAND_IN_CALLBACK void __asan_store##bytes##_noabort(const char *address) {          \
        stand_in::checked(address, bytes, stand_in::Access::Write);                                         \
    }

namespace stand_in {
STAND_IN_INLINE void checked(const char *address, size_t bytes, Access access) {
    const Lane *lane = hip_stand_in_lane;
    if (address >= lane->stack && address <= lane->stack_end && bytes <= (size_t)(lane->stack_end - address)) return;
    // threadIdx and the other built-in variables are in memory here, for reading.
    auto part_of = [&](const auto *object) {
        return address >= reinterpret_cast<const char *>(object) && address + bytes <= reinterpret_cast<const char *>(object + 1);
    };
    if (access == Access::Read && (part_of(lane) || part_of(&hip_stand_in_grid) || part_of(&hip_stand_in_lane))) return;
    hip_stand_in_runtime->access(address, bytes, access, __builtin_return_address(0));
}
}  // namespace stand_in

STAND_IN_ACCESS(1)
STAND_IN_ACCESS(2)
STAND_IN_ACCESS(4)
STAND_IN_ACCESS(8)
STAND_IN_ACCESS(16)
extern "C" STAND_IN_CALLBACK void __asan_loadN_noabort(const char *address, size_t bytes) {
    stand_in::checked(address, bytes, stand_in::Access::Read);
}
extern "C" STAND_IN_CALLBACK void __asan_storeN_noabort(const char *address, size_t bytes) {
    stand_in::checked(address, bytes, stand_in::Access::Write);
}
extern "C" STAND_IN_CALLBACK void __asan_handle_no_return() {}
extern "C" STAND_IN_CALLBACK void *__asan_memcpy(void *to, const void *from, size_t bytes) {
    stand_in::checked((const char *)from, bytes, stand_in::Access::Read);
    stand_in::checked((const char *)to, bytes, stand_in::Access::Write);
    return __builtin_memcpy(to, from, bytes);
}
extern "C" STAND_IN_CALLBACK void *__asan_memmove(void *to, const void *from, size_t bytes) {
    stand_in::checked((const char *)from, bytes, stand_in::Access::Read);
    stand_in::checked((const char *)to, bytes, stand_in::Access::Write);
    return __builtin_memmove(to, from, bytes);
}
extern "C" STAND_IN_CALLBACK void *__asan_memset(void *to, int value, size_t bytes) {
    stand_in::checked((const char *)to, bytes, stand_in::Access::Write);
    return __builtin_memset(to, value, bytes);
}

// Keywords of the language.
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __constant__ static const
// Blocks run one after the other, so one copy serves all of them.
#define __shared__ static __attribute__((section("hip_local_memory")))

#define threadIdx (stand_in::hip_stand_in_lane->thread)
#define blockIdx (stand_in::hip_stand_in_grid.block)
#define blockDim (stand_in::hip_stand_in_grid.block_size)
#define gridDim (stand_in::hip_stand_in_grid.grid_size)
#define warpSize ((int)stand_in::hip_stand_in_grid.wave_size)
#define STAND_IN_DYNAMIC_LOCAL_MEMORY (stand_in::hip_stand_in_grid.local_memory)

// Places at which lanes meet.
#define STAND_IN_PLACE __builtin_return_address(0)

STAND_IN_MEETING void __syncthreads() { stand_in::hip_stand_in_runtime->barrier(STAND_IN_PLACE); }
STAND_IN_MEETING void __syncwarp() {
    uint64_t active;
    stand_in::hip_stand_in_runtime->wave(STAND_IN_PLACE, stand_in::WaveOperation::Barrier, 0, 0, &active);
}
#define __builtin_amdgcn_wave_barrier() __syncwarp()
#define __builtin_amdgcn_s_barrier() __syncthreads()
#define __builtin_amdgcn_fence(...) __atomic_thread_fence(__ATOMIC_SEQ_CST)
STAND_IN_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
STAND_IN_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
// Counts cycles. Each call is a microsecond later than the one before, so that a kernel that waits for the clock ends.
STAND_IN_INLINE long long clock64() {
    static long long now = 0;
    return now += 1700;
}
STAND_IN_INLINE long long wall_clock64() { return clock64(); }
STAND_IN_INLINE int __lane_id() { return (int)stand_in::hip_stand_in_lane->lane; }

namespace stand_in {
template <class T>
STAND_IN_MEETING T shuffle(T value, uint32_t lane, const void *place) {
    static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
    uint64_t bits = 0, active;
    __builtin_memcpy(&bits, &value, sizeof(T));
    bits = hip_stand_in_runtime->wave(place, WaveOperation::Shuffle, bits, lane, &active);
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}
// Lanes exchange within groups of `width`; a source outside the group is the lane itself.
STAND_IN_INLINE uint32_t within(uint32_t width, int source) {
    uint32_t lane = hip_stand_in_lane->lane, first = lane & ~(width - 1);
    return source < (int)first || source >= (int)(first + width) ? lane : (uint32_t)source;
}
}  // namespace stand_in

template <class T>
STAND_IN_MEETING T __shfl(T value, int lane, int width = warpSize) {
    uint32_t first = stand_in::hip_stand_in_lane->lane & ~(uint32_t)(width - 1);
    return stand_in::shuffle(value, first + ((uint32_t)lane & (uint32_t)(width - 1)), STAND_IN_PLACE);
}
template <class T>
STAND_IN_MEETING T __shfl_xor(T value, int mask, int width = warpSize) {
    int lane = (int)stand_in::hip_stand_in_lane->lane;
    return stand_in::shuffle(value, stand_in::within((uint32_t)width, lane ^ mask), STAND_IN_PLACE);
}
template <class T>
STAND_IN_MEETING T __shfl_up(T value, unsigned distance, int width = warpSize) {
    int lane = (int)stand_in::hip_stand_in_lane->lane;
    return stand_in::shuffle(value, stand_in::within((uint32_t)width, lane - (int)distance), STAND_IN_PLACE);
}
template <class T>
STAND_IN_MEETING T __shfl_down(T value, unsigned distance, int width = warpSize) {
    int lane = (int)stand_in::hip_stand_in_lane->lane;
    return stand_in::shuffle(value, stand_in::within((uint32_t)width, lane + (int)distance), STAND_IN_PLACE);
}
STAND_IN_MEETING uint64_t __ballot(int vote) {
    uint64_t active;
    return stand_in::hip_stand_in_runtime->wave(STAND_IN_PLACE, stand_in::WaveOperation::Ballot, vote != 0, 0, &active);
}
STAND_IN_MEETING uint64_t __activemask() {
    return stand_in::hip_stand_in_runtime->wave(STAND_IN_PLACE, stand_in::WaveOperation::Ballot, 1, 0, nullptr);
}
STAND_IN_MEETING int __all(int vote) {
    uint64_t active;
    uint64_t votes =
        stand_in::hip_stand_in_runtime->wave(STAND_IN_PLACE, stand_in::WaveOperation::Ballot, vote != 0, 0, &active);
    return votes == active;
}
STAND_IN_MEETING int __any(int vote) {
    uint64_t active;
    return stand_in::hip_stand_in_runtime->wave(STAND_IN_PLACE, stand_in::WaveOperation::Ballot, vote != 0, 0, &active) != 0;
}

// Atomics: lanes run one at a time, so plain operations suffice. They are not inlined, or their accesses would count as
// plain ones.
#define STAND_IN_ATOMIC(name, result)                                                                       \
    template <class T>                                                                                      \
    static __attribute__((noinline)) STAND_IN_UNCHECKED T name(T *address, T value) {                                                           \
        stand_in::hip_stand_in_runtime->access(address, sizeof(T), stand_in::Access::Atomic, STAND_IN_PLACE); \
        T old = *address;                                                                                   \
        *address = (result);                                                                                \
        return old;                                                                                         \
    }
STAND_IN_ATOMIC(atomicAdd, old + value)
STAND_IN_ATOMIC(atomicSub, old - value)
STAND_IN_ATOMIC(atomicAnd, old & value)
STAND_IN_ATOMIC(atomicOr, old | value)
STAND_IN_ATOMIC(atomicXor, old ^ value)
STAND_IN_ATOMIC(atomicMin, value < old ? value : old)
STAND_IN_ATOMIC(atomicMax, old < value ? value : old)
STAND_IN_ATOMIC(atomicExch, value)
template <class T>
static __attribute__((noinline)) STAND_IN_UNCHECKED T atomicCAS(T *address, T compare, T value) {
    stand_in::hip_stand_in_runtime->access(address, sizeof(T), stand_in::Access::Atomic, STAND_IN_PLACE);
    T old = *address;
    if (old == compare) *address = value;
    return old;
}

// Vectors, each moved by one access as on a GPU; the compiler would take a structure apart.
#define STAND_IN_VECTOR2(name, type)                                                                        \
    typedef type name __attribute__((ext_vector_type(2)));                                                  \
    STAND_IN_INLINE name make_##name(type x, type y) { return name{x, y}; }
#define STAND_IN_VECTOR4(name, type)                                                                        \
    typedef type name __attribute__((ext_vector_type(4)));                                                  \
    STAND_IN_INLINE name make_##name(type x, type y, type z, type w) { return name{x, y, z, w}; }
STAND_IN_VECTOR2(float2, float)
STAND_IN_VECTOR2(int2, int)
STAND_IN_VECTOR4(float4, float)
STAND_IN_VECTOR4(int4, int)

#include "math.h"
#include "matrix.h"

// Kernels by name: the stand-in's compiler appends one STAND_IN_KERNEL for each `__global__` function that it finds.
namespace stand_in {
template <class... A>
struct Arguments {
    static constexpr uint32_t count = sizeof...(A);
    static constexpr uint32_t bytes[sizeof...(A) + 1] = {(uint32_t)sizeof(A)..., 0};
};
template <size_t... I>
struct Indices {};
template <size_t N, size_t... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <size_t... I>
struct MakeIndices<0, I...> {
    using Type = Indices<I...>;
};
template <class... A, size_t... I>
STAND_IN_INLINE void call_with(void (*kernel)(A...), void **arguments, Indices<I...>) {
    kernel(*(A *)arguments[I]...);
}
template <class... A>
Arguments<A...> arguments_of(void (*)(A...));
template <class... A>
STAND_IN_INLINE void call(void (*kernel)(A...), void **arguments) {
    call_with(kernel, arguments, typename MakeIndices<sizeof...(A)>::Type{});
}
}  // namespace stand_in

#define STAND_IN_KERNEL(name)                                                                               \
    { #name, [](void **arguments) STAND_IN_UNCHECKED { stand_in::call(name, arguments); },                  \
      decltype(stand_in::arguments_of(name))::bytes, decltype(stand_in::arguments_of(name))::count },

// The section exists only if a kernel declares static local memory.
extern "C" __attribute__((weak, visibility("hidden"))) char __start_hip_local_memory[];
extern "C" __attribute__((weak, visibility("hidden"))) char __stop_hip_local_memory[];

#define STAND_IN_MODULE(...)                                                                                \
    static const stand_in::Kernel stand_in_kernels[] = {__VA_ARGS__};                                       \
    extern "C" __attribute__((visibility("default"))) const stand_in::Module hip_stand_in_module = {        \
        stand_in::ABI_VERSION, &stand_in::hip_stand_in_runtime, &stand_in::hip_stand_in_lane,               \
        &stand_in::hip_stand_in_grid, stand_in_kernels, sizeof(stand_in_kernels) / sizeof(stand_in_kernels[0]), \
        __start_hip_local_memory, __stop_hip_local_memory};
