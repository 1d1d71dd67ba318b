// Executes the kernels on a CPU, for tests: the threads of a block are fibers that take turns. A barrier or an exchange
// between lanes is a point where one waits for the others, so a missing barrier shows as a wrong result, and a barrier
// that not all threads reach as an endless loop.
#include <cmath>
#include <cstdint>
#include <cstddef>
#include <cstring>
#include <vector>
#include <csetjmp>
#include <ucontext.h>
#include <utility>
#include <cstdlib>
#include <cstdio>
#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
struct dim3 {
    unsigned x, y, z;
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;
static inline int min(int a, int b) { return a < b ? a : b; }
alignas(256) static unsigned char dynamic_shared[256 << 10];
static size_t dynamic_bytes;
#define DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(dynamic_shared)
static inline unsigned __float_as_uint(float f) {
    unsigned u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float __uint_as_float(unsigned u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
#define __expf(x) expf(x)
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(unsigned x) { return __builtin_ffs(x); }

struct Barrier {
    int arrived = 0, alive = 0;
    unsigned generation = 0;
    void release_if() {
        if (alive > 0 && arrived == alive) {
            arrived = 0;
            ++generation;
        }
    }
};
struct Fiber {
    jmp_buf place;
    bool started;
    ucontext_t context;
    std::vector<char> stack;
    bool done;
    dim3 thread;
};
static std::vector<Fiber> fibers;
static ucontext_t start;
static jmp_buf scheduler;
static int current;
static Barrier block_barrier;
static std::vector<Barrier> team_barriers;
// Two sets of slots in turn: who is late reads the one that nobody writes yet.
static uint64_t slots[2][32][32][6];
// Contexts only start a fiber: switching with them costs a system call, a jump does not.
static void yield() {
    int me = current;
    if (!_setjmp(fibers[me].place)) _longjmp(scheduler, 1);
    current = me;
    threadIdx = fibers[me].thread;
}
static void resume(Fiber& fiber) {
    if (_setjmp(scheduler)) return;
    if (fiber.started) _longjmp(fiber.place, 1);
    fiber.started = true;
    swapcontext(&start, &fiber.context);
}
static void meet(Barrier& b) {
    unsigned g = b.generation;
    ++b.arrived;
    b.release_if();
    while (b.generation == g) yield();
}
static void __syncthreads() { meet(block_barrier); }
static int team_id() { return threadIdx.x / 32; }
// The team's slots until its next meeting, in which a lane has written its own.
static uint64_t (*next_slots())[6] { return slots[team_barriers[team_id()].generation & 1][team_id()]; }
template <class T>
static T emulated_exchange(T value, int from) {
    auto all = next_slots();
    memcpy(all[threadIdx.x % 32], &value, sizeof(T));
    meet(team_barriers[team_id()]);
    T got;
    memcpy(&got, all[from & 31], sizeof(T));
    return got;
}
#define SHUFFLE(value, lane) emulated_exchange(value, lane)
#define SHUFFLE_XOR(value, mask) emulated_exchange(value, (int)(threadIdx.x % 32) ^ (mask))
static unsigned team_ballot(bool vote) {
    unsigned votes = 0;
    auto all = next_slots();
    all[threadIdx.x % 32][0] = vote;
    meet(team_barriers[team_id()]);
    for (int i = 0; i < 32; ++i) votes |= (unsigned)(all[i][0] & 1) << i;
    return votes;
}
// As the PTX manual draws the fragments of mma.m16n8k16 (bf16) and mma.m16n8k8 (tf32).
static float half_of(unsigned w, int h) { return __uint_as_float(h ? (w & 0xffff0000u) : (w << 16)); }
static void emulated_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], int bits) {
    int lane = threadIdx.x % 32;
    auto all = next_slots();
    uint64_t* s = all[lane];
    for (int i = 0; i < 4; ++i) s[i] = a[i];
    for (int i = 0; i < 2; ++i) s[4 + i] = b[i];
    meet(team_barriers[team_id()]);
    int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
        int row = g + (i >= 2 ? 8 : 0), col = 2 * t + (i & 1);
        float sum = c[i];
        if (bits == 16)
            for (int k = 0; k < 16; ++k) {
                // a_i: row = g for i in 0,1,4,5 else g+8; col = t*2 + (i&1) for i<4 else +8
                int la = (row % 8) * 4 + (k % 8) / 2;
                int reg = (row >= 8 ? 1 : 0) + (k >= 8 ? 2 : 0);
                int lb = col * 4 + (k % 8) / 2;
                int rb = k >= 8 ? 1 : 0;
                sum += half_of((unsigned)all[la][reg], k & 1) * half_of((unsigned)all[lb][4 + rb], k & 1);
            }
        else
            for (int k = 0; k < 8; ++k) {
                int la = (row % 8) * 4 + k % 4;
                int reg = (row >= 8 ? 1 : 0) + (k >= 4 ? 2 : 0);
                int lb = col * 4 + k % 4;
                int rb = k >= 4 ? 1 : 0;
                sum += __uint_as_float((unsigned)all[la][reg]) * __uint_as_float((unsigned)all[lb][4 + rb]);
            }
        c[i] = sum;
    }
}
// As the PTX manual describes ldmatrix: lane 8i + r names row r of matrix i; every lane gets word t of row g, or, of
// the transposed matrix, elements 2t and 2t + 1 of column g.
static void emulated_load_matrices(unsigned (&word)[4], const void* place, bool turned) {
    int lane = threadIdx.x % 32;
    auto all = next_slots();
    all[lane][0] = (uint64_t)place;
    meet(team_barriers[team_id()]);
    for (int i = 0; i < 4; ++i) {
        if (turned) {
            unsigned short low, high;
            memcpy(&low, (const char*)all[8 * i + lane % 4 * 2][0] + lane / 4 * 2, 2);
            memcpy(&high, (const char*)all[8 * i + lane % 4 * 2 + 1][0] + lane / 4 * 2, 2);
            word[i] = low | (unsigned)high << 16;
        } else {
            memcpy(&word[i], (const char*)all[8 * i + lane / 4][0] + lane % 4 * 4, 4);
        }
    }
}
static void (*entry)(void**);
static void** entry_arguments;
static void fiber_main(int index) {
    entry(entry_arguments);
    fibers[index].done = true;
    --block_barrier.alive;
    block_barrier.release_if();
    Barrier& t = team_barriers[index / 32];
    --t.alive;
    t.release_if();
    _longjmp(scheduler, 1);
}
static void run_grid(dim3 grid, dim3 block, size_t shared, void (*f)(void**), void** arguments) {
    entry = f;
    entry_arguments = arguments;
    gridDim = grid;
    blockDim = block;
    dynamic_bytes = shared;
    int n = block.x * block.y * block.z;
    if ((int)fibers.size() < n) fibers.resize(n);
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                memset(dynamic_shared, 0xff, shared);
                block_barrier = Barrier();
                block_barrier.alive = n;
                team_barriers.assign((n + 31) / 32, Barrier());
                for (int i = 0; i < n; ++i) {
                    Fiber& fb = fibers[i];
                    team_barriers[i / 32].alive++;
                    fb.done = false;
                    fb.started = false;
                    fb.thread = {(unsigned)i, 0, 0};
                    fb.stack.resize(128 << 10);
                    getcontext(&fb.context);
                    fb.context.uc_stack.ss_sp = fb.stack.data();
                    fb.context.uc_stack.ss_size = fb.stack.size();
                    fb.context.uc_link = &start;
                    makecontext(&fb.context, (void (*)())fiber_main, 1, i);
                }
                int left = n;
                while (left) {
                    left = 0;
                    for (int i = 0; i < n; ++i)
                        if (!fibers[i].done) {
                            current = i;
                            threadIdx = fibers[i].thread;
                            resume(fibers[i]);
                            if (!fibers[i].done) ++left;
                        }
                }
            }
}
template <class... P, size_t... I>
static void call(void (*f)(P...), void** a, std::index_sequence<I...>) {
    f(*reinterpret_cast<P*>(a[I])...);
}
template <auto F>
struct Wrap;
template <class... P, void (*F)(P...)>
struct Wrap<F> {
    static void run(void** a) { call(F, a, std::index_sequence_for<P...>{}); }
    static constexpr int count = sizeof...(P);
};

#define ENTRY(name)                                                                                                   \
    if (!strcmp(kernel, #name)) {                                                                                     \
        if (Wrap<name>::count != count) return -2;                                                                    \
        run_grid({sizes[0], sizes[1], sizes[2]}, {sizes[3], sizes[4], sizes[5]}, shared, Wrap<name>::run, arguments); \
        return 0;                                                                                                     \
    }
