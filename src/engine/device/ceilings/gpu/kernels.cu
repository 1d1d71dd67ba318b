// Kernels for measurements, each with a single kind of work. They are CUDA C++ and HIP C++ at once and need no header.
// TUTOR_THREADS: threads per block. TUTOR_CHAINS: independent sums per thread.

#if defined(TUTOR_HIP)
typedef unsigned quad __attribute__((ext_vector_type(4)));
// Two numbers at once, so that GPUs with packed f32 instructions use them.
typedef float lanes __attribute__((ext_vector_type(2)));
#else
typedef uint4 quad;
typedef float lanes;
#endif

extern "C" __global__ __launch_bounds__(TUTOR_THREADS) void empty() {}

// Does `rounds` multiply-adds in each of a thread's chains. The chains do not wait for each other.
extern "C" __global__ __launch_bounds__(TUTOR_THREADS) void multiply_add(float factor, float term, unsigned rounds, float *sink) {
#if defined(TUTOR_HIP)
#pragma clang fp contract(fast)
#endif
    lanes chain[TUTOR_CHAINS];
#pragma unroll
    for (int c = 0; c < TUTOR_CHAINS; c++) chain[c] = lanes(threadIdx.x + c);
#pragma unroll 8
    for (unsigned round = 0; round < rounds; round++) {
#pragma unroll
        for (int c = 0; c < TUTOR_CHAINS; c++) {
#if defined(TUTOR_HIP)
            chain[c] = chain[c] * factor + term;
#else
            chain[c] = fmaf(chain[c], factor, term);
#endif
        }
    }
    lanes sum = chain[0];
#pragma unroll
    for (int c = 1; c < TUTOR_CHAINS; c++) sum += chain[c];
#if defined(TUTOR_HIP)
    float total = sum.x + sum.y;
#else
    float total = sum;
#endif
    // Never true, as every chain stays above zero. The compiler cannot know that and has to keep the sums.
    if (total < 0.0f) sink[0] = total;
}

// A block copies one chunk of four quads per thread. Blocks beyond the last chunk start again at the first. Copies
// close in time are thus close in memory, and no compute unit meets its own chunk again soon.
extern "C" __global__ __launch_bounds__(TUTOR_THREADS) void copy(const quad *from, quad *to, unsigned chunks) {
    unsigned long long at = (unsigned long long)(blockIdx.x % chunks) * (4 * TUTOR_THREADS) + threadIdx.x;
    quad a = from[at];
    quad b = from[at + TUTOR_THREADS];
    quad c = from[at + 2 * TUTOR_THREADS];
    quad d = from[at + 3 * TUTOR_THREADS];
    to[at] = a;
    to[at + TUTOR_THREADS] = b;
    to[at + 2 * TUTOR_THREADS] = c;
    to[at + 3 * TUTOR_THREADS] = d;
}

static __device__ unsigned scrambled(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

// Returns the bits of a number between -1 and 1.
static __device__ unsigned number(unsigned seed) {
    union { float value; unsigned bits; } number;
    number.value = (float)(int)scrambled(seed) * (1.0f / 2147483648.0f);
    return number.bits;
}

// Fills memory with numbers like a model's: with zeros, matrix units draw less power and clock higher. `halves`: two
// bf16 per word.
extern "C" __global__ __launch_bounds__(TUTOR_THREADS) void fill_random(unsigned *words, unsigned count, unsigned halves) {
    for (unsigned at = blockIdx.x * TUTOR_THREADS + threadIdx.x; at < count; at += gridDim.x * TUTOR_THREADS) {
        unsigned word = number(2 * at);
        words[at] = halves ? word >> 16 | (number(2 * at + 1) & 0xffff0000u) : word;
    }
}
