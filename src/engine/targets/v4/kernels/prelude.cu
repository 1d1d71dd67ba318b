// Differences between CUDA and HIP, the type of operands, and accesses to several of them at once.
//
// The program defines these macros in addition to the driver layer's:
// - OPERAND_BITS: 16 for bf16, 32 for f32. TENSOR_CORES: 1 if operands may be rounded to bf16 or tf32.
// - MATRIX_CORES, for attention: 0 none, AMD's 1 MFMA and 2 WMMA, 3 Hopper's by warpgroups.
// - The model's sizes HIDDEN, FFN, VOCABULARY, HEADS, KV_HEADS, HEAD_DIM, and the sequence's length SEQUENCE.
// - The sizes of blocks NORM_TEAMS, TILE and GROUPS.
// - OVERLAPPING: 1 if launches may overlap. FACTORS: the number of update factors.

#define KERNEL extern "C" __global__ void
#define INLINE static __device__ __forceinline__
#if !defined(INFINITY)
#define INFINITY __int_as_float(0x7f800000)
#endif

#define NEVER_INLINE __attribute__((noinline))

// Lanes that exchange values. On devices that run 64 threads together, a team is half of them.
constexpr int TEAM = 32;

#if defined(TUTOR_CUDA)
#define SHUFFLE(value, lane) __shfl_sync(0xffffffffu, value, lane)
#define SHUFFLE_XOR(value, mask) __shfl_xor_sync(0xffffffffu, value, mask)
INLINE unsigned team_ballot(bool vote) { return __ballot_sync(0xffffffffu, vote); }
#elif defined(TUTOR_HIP)
#define SHUFFLE(value, lane) __shfl(value, lane, TEAM)
#define SHUFFLE_XOR(value, mask) __shfl_xor(value, mask, TEAM)
INLINE unsigned team_ballot(bool vote) {
    unsigned long long all = __ballot(vote);
    return (unsigned)(all >> (__lane_id() & ~(TEAM - 1)));
}
#endif

INLINE int lane_of_thread() { return threadIdx.x % TEAM; }
INLINE int team_of_thread() { return threadIdx.x / TEAM; }

INLINE float team_sum(float value) {
    for (int mask = TEAM / 2; mask > 0; mask /= 2) value += SHUFFLE_XOR(value, mask);
    return value;
}

INLINE float team_max(float value) {
    for (int mask = TEAM / 2; mask > 0; mask /= 2) value = fmaxf(value, SHUFFLE_XOR(value, mask));
    return value;
}

// Every kernel begins with this call. An overlapping launch may start before the previous work has ended.
INLINE void wait_for_earlier() {
#if OVERLAPPING
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Returns 2^x; results below the normal numbers are 0.
INLINE float power_of_two(float x) {
#if defined(TUTOR_CUDA)
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#else
    return exp2f(x);
#endif
}

INLINE unsigned bits_of(float value) { return __float_as_uint(value); }
INLINE float float_of(unsigned bits) { return __uint_as_float(bits); }

// Packs two numbers as bf16, rounded to nearest, the first in the lower half.
INLINE unsigned pack_bf16(float low, float high) {
#if defined(TUTOR_CUDA) && TUTOR_SM >= 80
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
#else
    unsigned l = bits_of(low), h = bits_of(high);
    l = low != low ? 0x7fc0u : (l + 0x7fffu + ((l >> 16) & 1u)) >> 16;
    h = high != high ? 0x7fc0u : (h + 0x7fffu + ((h >> 16) & 1u)) >> 16;
    return l | (h << 16);
#endif
}

#if OPERAND_BITS == 16
struct Operand {
    unsigned short bits;
};
INLINE float widen(Operand value) { return float_of((unsigned)value.bits << 16); }
INLINE Operand narrow(float value) {
    Operand operand;
    operand.bits = (unsigned short)pack_bf16(value, 0.0f);
    return operand;
}
#else
typedef float Operand;
INLINE float widen(Operand value) { return value; }
INLINE Operand narrow(float value) { return value; }
#endif

struct alignas(16) Words4 {
    unsigned word[4];
};
struct alignas(8) Words2 {
    unsigned word[2];
};

// Loads two numbers from an address that is a multiple of eight bytes.
INLINE void load_pair(const float* from, float (&to)[2]) {
    const Words2 words = *reinterpret_cast<const Words2*>(from);
    to[0] = float_of(words.word[0]);
    to[1] = float_of(words.word[1]);
}

// Loads sixteen bytes that no kernel reads again soon.
INLINE Words4 load_once(const float* from) {
    Words4 words;
#if defined(TUTOR_CUDA)
    asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.word[0]), "=r"(words.word[1]), "=r"(words.word[2]), "=r"(words.word[3])
                 : "l"(from));
#elif defined(TUTOR_HIP)
#pragma unroll
    for (int i = 0; i < 4; ++i) words.word[i] = __builtin_nontemporal_load(reinterpret_cast<const unsigned*>(from) + i);
#else
    words = *reinterpret_cast<const Words4*>(from);
#endif
    return words;
}

INLINE void store_once(float* to, const Words4& words) {
#if defined(TUTOR_CUDA)
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "r"(words.word[0]), "r"(words.word[1]), "r"(words.word[2]), "r"(words.word[3])
                 : "memory");
#elif defined(TUTOR_HIP)
#pragma unroll
    for (int i = 0; i < 4; ++i) __builtin_nontemporal_store(words.word[i], reinterpret_cast<unsigned*>(to) + i);
#else
    *reinterpret_cast<Words4*>(to) = words;
#endif
}

// Operands of one 16-byte access.
constexpr int WIDE = 16 / sizeof(Operand);

// Number of elements of a row to move at once.
#define VECTOR_OF(columns) ((columns) % WIDE == 0 ? WIDE : 1)

template <int COUNT>
INLINE void load(const unsigned* from, unsigned (&to)[COUNT]) {
    if constexpr (COUNT % 4 == 0) {
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            Words4 words = *reinterpret_cast<const Words4*>(from + i);
#pragma unroll
            for (int j = 0; j < 4; ++j) to[i + j] = words.word[j];
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i] = from[i];
    }
}

template <int COUNT>
INLINE void load(const float* from, float (&to)[COUNT]) {
    if constexpr (COUNT % 4 == 0) {
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            Words4 words = *reinterpret_cast<const Words4*>(from + i);
#pragma unroll
            for (int j = 0; j < 4; ++j) to[i + j] = float_of(words.word[j]);
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i] = from[i];
    }
}

template <int COUNT>
INLINE void store(float* to, const float (&from)[COUNT]) {
    if constexpr (COUNT % 4 == 0) {
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            Words4 words;
#pragma unroll
            for (int j = 0; j < 4; ++j) words.word[j] = bits_of(from[i + j]);
            *reinterpret_cast<Words4*>(to + i) = words;
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i] = from[i];
    }
}

#if OPERAND_BITS == 16
INLINE float low_half(unsigned word) { return float_of(word << 16); }
INLINE float high_half(unsigned word) { return float_of(word & 0xffff0000u); }

template <int COUNT>
INLINE void load(const Operand* from, float (&to)[COUNT]) {
    if constexpr (COUNT % 8 == 0) {
#pragma unroll
        for (int i = 0; i < COUNT; i += 8) {
            Words4 words = *reinterpret_cast<const Words4*>(from + i);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                to[i + 2 * j] = low_half(words.word[j]);
                to[i + 2 * j + 1] = high_half(words.word[j]);
            }
        }
    } else if constexpr (COUNT == 4) {
        Words2 words = *reinterpret_cast<const Words2*>(from);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            to[2 * j] = low_half(words.word[j]);
            to[2 * j + 1] = high_half(words.word[j]);
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i] = widen(from[i]);
    }
}

template <int COUNT>
INLINE void store(Operand* to, const float (&from)[COUNT]) {
    if constexpr (COUNT % 8 == 0) {
#pragma unroll
        for (int i = 0; i < COUNT; i += 8) {
            Words4 words;
#pragma unroll
            for (int j = 0; j < 4; ++j) words.word[j] = pack_bf16(from[i + 2 * j], from[i + 2 * j + 1]);
            *reinterpret_cast<Words4*>(to + i) = words;
        }
    } else if constexpr (COUNT == 4) {
        Words2 words;
#pragma unroll
        for (int j = 0; j < 2; ++j) words.word[j] = pack_bf16(from[2 * j], from[2 * j + 1]);
        *reinterpret_cast<Words2*>(to) = words;
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i] = narrow(from[i]);
    }
}
#endif

// Shared memory whose size the launch decides. Aligned for 16-byte accesses.
#define DYNAMIC_SHARED(type, name)                    \
    extern __shared__ Words4 dynamic_shared_memory[]; \
    type* name = reinterpret_cast<type*>(dynamic_shared_memory)

// Keeps the device busy for a while, so that all later work is in the queue before it starts.
KERNEL hold(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}
