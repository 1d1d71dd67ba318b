// Tests the stand-in itself: correct programs pass, and each planted mistake is found. Every case runs in its own
// process, because a failed launch ends the device.

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "library/hip.h"

extern "C" {
int hipInit(unsigned);
int hipGetDeviceCount(int *);
int hipMalloc(void **, size_t);
int hipFree(void *);
int hipMemcpyHtoDAsync(void *, const void *, size_t, void *);
int hipMemcpyDtoHAsync(void *, void *, size_t, void *);
int hipMemsetD32Async(void *, int, size_t, void *);
int hipStreamCreateWithFlags(void **, unsigned);
int hipStreamDestroy(void *);
int hipStreamSynchronize(void *);
int hipDeviceSynchronize();
int hipStreamBeginCapture(void *, int);
int hipStreamEndCapture(void *, void **);
int hipStreamIsCapturing(void *, int *);
int hipStreamWaitEvent(void *, void *, unsigned);
int hipEventCreateWithFlags(void **, unsigned);
int hipEventRecord(void *, void *);
int hipEventElapsedTime(float *, void *, void *);
int hipGraphGetNodes(void *, void **, size_t *);
int hipGraphInstantiateWithFlags(void **, void *, unsigned long long);
int hipGraphExecUpdate(void *, void *, void **, int *);
int hipGraphLaunch(void *, void *);
int hipModuleLoadData(void **, const void *);
int hipModuleGetFunction(void **, void *, const char *);
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int hiprtcCreateProgram(void **, const char *, const char *, int, const char *const *, const char *const *);
int hiprtcCompileProgram(void *, int, const char *const *);
int hiprtcGetProgramLogSize(void *, size_t *);
int hiprtcGetProgramLog(void *, char *);
int hiprtcGetCodeSize(void *, size_t *);
int hiprtcGetCode(void *, char *);
int hipblasLtCreate(void **);
int hipblasLtMatmulDescCreate(void **, int, int);
int hipblasLtMatmulDescSetAttribute(void *, int, const void *, size_t);
int hipblasLtMatrixLayoutCreate(void **, int, uint64_t, uint64_t, int64_t);
int hipblasLtMatmulPreferenceCreate(void **);
int hipblasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t);
int hipblasLtMatmulAlgoGetHeuristic(void *, void *, void *, void *, void *, void *, void *, int, void *, int *);
int hipblasLtMatmul(void *, void *, const void *, const void *, void *, const void *, void *, const void *, const void *, void *, void *,
                    void *, const void *, void *, size_t, void *);
}

namespace {

[[noreturn]] void stop(const std::string &why) {
    printf("%s\n", why.c_str());
    fflush(stdout);
    _exit(1);
}

void expect(bool holds, const std::string &what) {
    if (!holds) stop("not so: " + what);
}

void ok(int status, const char *call) {
    if (status != 0) stop(std::string(call) + " returned " + std::to_string(status));
}
#define OK(call) ok(call, #call)

std::vector<char> compile(const char *source) {
    void *program;
    OK(hiprtcCreateProgram(&program, source, "kernel.hip", 0, nullptr, nullptr));
    if (hiprtcCompileProgram(program, 0, nullptr) != 0) {
        size_t bytes;
        hiprtcGetProgramLogSize(program, &bytes);
        std::string log(bytes, 0);
        hiprtcGetProgramLog(program, log.data());
        stop(log);
    }
    size_t bytes;
    OK(hiprtcGetCodeSize(program, &bytes));
    std::vector<char> code(bytes);
    OK(hiprtcGetCode(program, code.data()));
    return code;
}

void *kernel(const char *source) {
    const std::vector<char> code = compile(source);
    void *module, *function;
    OK(hipModuleLoadData(&module, code.data()));
    OK(hipModuleGetFunction(&function, module, "k"));
    return function;
}

template <class T>
struct Buffer {
    void *address = nullptr;
    size_t count;
    explicit Buffer(size_t count) : count(count) { OK(hipMalloc(&address, count * sizeof(T))); }
    explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) {
        OK(hipMemcpyHtoDAsync(address, values.data(), count * sizeof(T), nullptr));
        OK(hipDeviceSynchronize());
    }
    std::vector<T> read() const {
        std::vector<T> values(count);
        OK(hipDeviceSynchronize());
        OK(hipMemcpyDtoHAsync(values.data(), address, count * sizeof(T), nullptr));
        return values;
    }
};

template <class... A>
int launch(void *function, unsigned blocks, unsigned threads, unsigned local, void *stream, A... arguments) {
    void *pointers[] = {&arguments..., nullptr};
    return hipModuleLaunchKernel(function, blocks, 1, 1, threads, 1, 1, local, stream, pointers, nullptr);
}

const char *architecture() {
    const char *named = getenv("HIP_STAND_IN_ARCH");
    return named ? named : "gfx90a";
}

unsigned wave() { return strncmp(architecture(), "gfx9", 4) == 0 ? 64 : 32; }

std::vector<float> ramp(size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; i++) values[i] = static_cast<float>(i);
    return values;
}

// Sums a block through local memory. `first` and `second` are its barriers, or empty.
std::string block_sum(const char *first, const char *second) {
    return std::string(R"(
extern "C" __global__ void __launch_bounds__(256) k(const float *x, float *y) {
    extern __shared__ float shared[];
    shared[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    )") + first + R"(
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        )" + second + R"(
    }
    if (threadIdx.x == 0) y[blockIdx.x] = shared[0];
}
)";
}

int run_block_sum(const std::string &source, float *sum) {
    Buffer<float> x(ramp(512)), y(2);
    const int status = launch(kernel(source.c_str()), 2, 256, 256 * 4, nullptr, x.address, y.address);
    if (status == 0) memcpy(sum, y.read().data(), 2 * sizeof(float));
    return status;
}

const char *SAXPY = R"(
extern "C" __global__ void k(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
)";

// One case: a name, whether its process must complain, and the expected text.
struct Case {
    const char *name;
    const char *complaint;
    std::function<void()> body;
    const char *environment = nullptr;
    // The architectures on which it runs, if not all.
    const char *architectures = nullptr;
};

int expect_failure(int status) {
    expect(status == hipErrorLaunchFailure, "the launch fails with 719, not " + std::to_string(status));
    return status;
}

// Runs a kernel over one block of two waves with one output per thread.
int run_one(const char *source, std::vector<float> *out = nullptr, size_t count = 128) {
    Buffer<float> y(count);
    const int status = launch(kernel(source), 1, 128, 1024, nullptr, y.address);
    if (out && status == 0) *out = y.read();
    return status;
}

// Runs a kernel in one stream and its reader in another, ordered by an event or not, directly or as a graph.
int two_streams(bool ordered, bool captured) {
    void *one, *two, *fork, *done, *join, *graph, *executable;
    OK(hipStreamCreateWithFlags(&one, 1));
    OK(hipStreamCreateWithFlags(&two, 1));
    for (void **event : {&fork, &done, &join}) OK(hipEventCreateWithFlags(event, 2));
    Buffer<float> x(ramp(64)), y(std::vector<float>(64, 0.0f)), z(std::vector<float>(64, 0.0f));
    void *function = kernel(SAXPY);
    if (captured) OK(hipStreamBeginCapture(one, 1));
    OK(hipEventRecord(fork, one));
    OK(hipStreamWaitEvent(two, fork, 0));
    OK(launch(function, 1, 64, 0, one, 1.0f, x.address, y.address, 64));
    OK(hipEventRecord(done, one));
    if (ordered) OK(hipStreamWaitEvent(two, done, 0));
    const int status = launch(function, 1, 64, 0, two, 1.0f, y.address, z.address, 64);
    if (!captured) return status;
    OK(hipEventRecord(join, two));
    OK(hipStreamWaitEvent(one, join, 0));
    OK(hipStreamEndCapture(one, &graph));
    OK(hipGraphInstantiateWithFlags(&executable, graph, 0));
    if (int failed = hipGraphLaunch(executable, one)) return failed;
    return hipGraphLaunch(executable, one);
}

// A product of [2, 3] and [3, 2] by the vendor's library, with the algorithm of this number.
struct SmallProduct {
    void *library, *what, *a_layout, *b_layout, *d_layout, *preference;
    Buffer<float> a{ramp(6)}, b{ramp(6)}, d{4}, workspace{64};
    char results[2][56];
    int found = 0;

    explicit SmallProduct(int compute = 2) {
        OK(hipblasLtCreate(&library));
        OK(hipblasLtMatmulDescCreate(&what, compute, 0));
        OK(hipblasLtMatrixLayoutCreate(&a_layout, 0, 2, 3, 2));
        OK(hipblasLtMatrixLayoutCreate(&b_layout, 0, 3, 2, 3));
        OK(hipblasLtMatrixLayoutCreate(&d_layout, 0, 2, 2, 2));
        OK(hipblasLtMatmulPreferenceCreate(&preference));
        const uint64_t bytes = 256;
        OK(hipblasLtMatmulPreferenceSetAttribute(preference, 1, &bytes, sizeof bytes));
    }
    int choose() {
        return hipblasLtMatmulAlgoGetHeuristic(library, what, a_layout, b_layout, d_layout, d_layout, preference, 2, results, &found);
    }
    int run(int algorithm, size_t workspace_bytes) {
        const float alpha = 1, beta = 0;
        return hipblasLtMatmul(library, what, &alpha, a.address, a_layout, b.address, b_layout, &beta, d.address, d_layout, d.address,
                               d_layout, results[algorithm], workspace.address, workspace_bytes, nullptr);
    }
};

#include "self_test_matrix.h"

const std::vector<Case> CASES = {
    {"every element of a matrix instruction lies where AMD's table says", nullptr, each_element_lies_where_the_table_says},
    {"lanes or registers exchanged in such a table are seen", nullptr, an_exchange_in_a_table_is_seen},
    {"neighbouring lanes of a matrix instruction's result exchanged are seen", nullptr, a_planted_exchange_is_seen,
     "HIP_STAND_IN_PLANT=matrix-lanes"},
    {"blocks of 16 lanes of a matrix instruction's result exchanged are seen", nullptr, a_planted_exchange_is_seen,
     "HIP_STAND_IN_PLANT=matrix-blocks"},
    {"a matrix instruction of a part of a wave is found", "take no part", half_a_wave_multiplies},
    {"other operands in the upper half of a wave of 32 are found", "brings other operands", upper_lanes_bring_something_else, nullptr, "gfx1100"},
    {"f32 keeps its digits in a matrix instruction, and xf32 ten bits", nullptr, operands_keep_their_digits},
    {"a kernel reads its arguments by value and writes its buffer", nullptr,
     [] {
         Buffer<float> x(ramp(1000)), y(std::vector<float>(1000, 1.0f));
         OK(launch(kernel(SAXPY), 4, 256, 0, nullptr, 2.0f, x.address, y.address, 1000));
         const auto values = y.read();
         for (size_t i = 0; i < 1000; i++) expect(values[i] == 1.0f + 2.0f * static_cast<float>(i), "y = 1 + 2 x");
     }},
    {"barriers order local memory", nullptr,
     [] {
         float sum[2];
         OK(run_block_sum(block_sum("__syncthreads();", "__syncthreads();"), sum));
         expect(sum[0] == 32640.0f && sum[1] == 98176.0f, "sums of 0 to 255 and of 256 to 511");
     }},
    {"a barrier taken out of a kernel is found", "",
     [] { float sum[2]; expect_failure(run_block_sum(block_sum("__syncthreads();", "__syncthreads();"), sum)); },
     "HIP_STAND_IN_PLANT=barrier"},
    {"blocks that take themselves for the first are found", "of another block wrote",
     [] { float sum[2]; expect_failure(run_block_sum(block_sum("__syncthreads();", "__syncthreads();"), sum)); },
     "HIP_STAND_IN_PLANT=blocks"},
    {"a missing first barrier is found", "", [] { float sum[2]; expect_failure(run_block_sum(block_sum("", "__syncthreads();"), sum)); }},
    {"a missing barrier in the loop is found", "",
     [] { float sum[2]; expect_failure(run_block_sum(block_sum("__syncthreads();", ""), sum)); }},
    {"waves have the size of the architecture", nullptr,
     [] {
         std::vector<float> y;
         OK(run_one(R"(extern "C" __global__ void k(float *y) {
             float v = threadIdx.x;
             for (int mask = warpSize / 2; mask > 0; mask /= 2) v += __shfl_xor(v, mask);
             y[threadIdx.x] = v;
         })", &y));
         for (unsigned i = 0; i < 128; i++) {
             const unsigned first = i / wave() * wave();
             expect(y[i] == static_cast<float>(wave() * first + wave() * (wave() - 1) / 2), "a sum over one wave");
         }
     }},
    {"a shuffle from a lane that takes no part gives no number", nullptr,
     [] {
         std::vector<float> y;
         OK(run_one(R"(extern "C" __global__ void k(float *y) {
             float v = 1.0f;
             if (threadIdx.x % 2 == 0) v = __shfl(v, (int)(threadIdx.x % warpSize) + 1);
             y[threadIdx.x] = v;
         })", &y));
         expect(std::isnan(y[0]) && y[1] == 1.0f, "a value nobody gave is NaN");
     }},
    {"ballots tell who votes, and divergent lanes meet at their own place", nullptr,
     [] {
         std::vector<float> y;
         OK(run_one(R"(extern "C" __global__ void k(float *y) {
             if (threadIdx.x % 4 == 0) y[threadIdx.x] = __popcll(__ballot(1));
             else y[threadIdx.x] = 100 + __popcll(__ballot(threadIdx.x % 4 == 1));
         })", &y));
         const auto quarter = static_cast<float>(wave() / 4);
         expect(y[0] == quarter && y[1] == 100 + quarter, "a quarter of the wave votes in each branch");
     }},
    {"a write past the end of a buffer is found", "byte 512 of an allocation of 512",
     [] { expect_failure(run_one(R"(extern "C" __global__ void k(float *y) { y[threadIdx.x + 1] = 0; })")); }},
    {"a read before the start of a buffer is found", "at byte -4 of an allocation",
     [] { expect_failure(run_one(R"(extern "C" __global__ void k(float *y) { int i = threadIdx.x; float v = y[i - 1]; __syncthreads(); y[i] = v; })")); }},
    {"a vector access half outside is found", "16 bytes at byte 504",
     [] {
         expect_failure(run_one(R"(typedef float V __attribute__((ext_vector_type(4), aligned(8)));
         extern "C" __global__ void k(float *y) { if (threadIdx.x == 0) *(V *)(y + 126) = V{1, 2, 3, 4}; })"));
     }},
    {"a buffer that was freed is no longer there", "device memory",
     [] {
         Buffer<float> y(64);
         void *function = kernel(R"(extern "C" __global__ void k(float *y) { y[threadIdx.x] = 0; })");
         OK(hipFree(y.address));
         expect_failure(launch(function, 1, 64, 0, nullptr, y.address));
     }},
    {"more local memory than was asked for is found", "of 1024 of local memory",
     [] {
         expect_failure(run_one(R"(extern "C" __global__ void k(float *y) {
             extern __shared__ __align__(16) char bytes[]; float *s = (float *)bytes;
             s[threadIdx.x + 129] = 1; y[threadIdx.x] = 0; })"));
     }},
    {"local memory nobody wrote is found", "no thread of its block has written",
     [] {
         expect_failure(run_one(R"(extern "C" __global__ void k(float *y) {
             __shared__ float s[128]; if (threadIdx.x == 0) s[1] = 1; __syncthreads(); y[threadIdx.x] = s[threadIdx.x]; })"));
     }},
    {"static local memory works like dynamic", nullptr,
     [] {
         std::vector<float> y;
         OK(run_one(R"(extern "C" __global__ void k(float *y) {
             __shared__ float s[128]; s[threadIdx.x] = threadIdx.x; __syncthreads(); y[threadIdx.x] = s[127 - threadIdx.x]; })", &y));
         expect(y[0] == 127.0f && y[127] == 0.0f, "values of the other end");
     }},
    {"two blocks that write one place are found", "of another block wrote",
     [] {
         Buffer<float> y(1);
         expect_failure(launch(kernel(R"(extern "C" __global__ void k(float *y) { if (threadIdx.x == 0) y[0] = blockIdx.x; })"), 2, 64, 0,
                               nullptr, y.address));
     }},
    {"a block that reads what another writes is found", "another block",
     [] {
         Buffer<float> y(ramp(2));
         expect_failure(launch(kernel(R"(extern "C" __global__ void k(float *y) { if (threadIdx.x == 0) y[blockIdx.x] = y[(blockIdx.x + 1) % 2]; })"),
                               2, 64, 0, nullptr, y.address));
     }},
    {"atomics of many blocks are no race", nullptr,
     [] {
         Buffer<float> y(std::vector<float>{0.0f});
         OK(launch(kernel(R"(extern "C" __global__ void k(float *y) { atomicAdd(y, 1.0f); })"), 3, 64, 0, nullptr, y.address));
         expect(y.read()[0] == 192.0f, "192 additions");
     }},
    {"a barrier inside one wave orders that wave only", nullptr,
     [] {
         std::vector<float> y;
         OK(run_one(R"(extern "C" __global__ void k(float *y) {
             __shared__ float s[128]; int lane = threadIdx.x % 32, first = threadIdx.x - lane;
             s[threadIdx.x] = threadIdx.x; __builtin_amdgcn_wave_barrier(); y[threadIdx.x] = s[first + 31 - lane]; })", &y));
         expect(y[32] == 63.0f, "the last of 32 lanes");
     }},
    {"a barrier that not all threads reach is found", "never reach",
     [] { expect_failure(run_one(R"(extern "C" __global__ void k(float *y) { if (threadIdx.x < 64) __syncthreads(); y[threadIdx.x] = 0; })")); }},
    {"fresh memory is poison", nullptr,
     [] {
         Buffer<float> y(4);
         expect(std::isnan(y.read()[0]), "NaN until written");
     }},
    {"copies past an allocation are refused", "hipMemcpyHtoDAsync: 20 bytes at byte 0 of an allocation of 16",
     [] {
         Buffer<float> y(4);
         const float values[5] = {};
         expect(hipMemcpyHtoDAsync(y.address, values, sizeof values, nullptr) == hipErrorInvalidValue, "error 1");
     }},
    {"a double free is refused", "freed before",
     [] {
         Buffer<float> y(4);
         OK(hipFree(y.address));
         expect(hipFree(y.address) == hipErrorInvalidValue, "error 1");
     }},
    {"launches beyond the device's limits are refused", nullptr,
     [] {
         Buffer<float> y(1);
         void *function = kernel(SAXPY);
         expect(launch(function, 1, 1025, 0, nullptr, 1.0f, y.address, y.address, 0) == hipErrorLaunchOutOfResources, "1025 threads");
         expect(launch(function, 1, 64, (64 << 10) + 4, nullptr, 1.0f, y.address, y.address, 0) == hipErrorLaunchOutOfResources, "local memory");
         expect(launch(function, 0, 64, 0, nullptr, 1.0f, y.address, y.address, 0) == hipErrorInvalidValue, "no blocks");
     }},
    {"streams in order through an event, as they are and as a graph", nullptr,
     [] {
         OK(two_streams(true, false));
         OK(two_streams(true, true));
     }},
    {"two streams without an event between them are found", "that k wrote, which nothing orders before it",
     [] { expect_failure(two_streams(false, false)); }},
    {"two branches of a graph without an edge between them are found", "that k wrote, which nothing orders before it",
     [] { expect_failure(two_streams(false, true)); }},
    {"a copy that does not wait for a kernel of another stream is found", "hipMemcpyDtoHAsync reads byte 0 that k wrote",
     [] {
         void *stream;
         OK(hipStreamCreateWithFlags(&stream, 1));
         Buffer<float> x(ramp(64)), y(std::vector<float>(64, 0.0f));
         OK(launch(kernel(SAXPY), 1, 64, 0, stream, 1.0f, x.address, y.address, 64));
         float values[64];
         expect_failure(hipMemcpyDtoHAsync(values, y.address, sizeof values, nullptr));
     }},
    {"a captured graph repeats its launches with their arguments", nullptr,
     [] {
         Buffer<float> x(ramp(64)), y(std::vector<float>(64, 0.0f));
         void *function = kernel(SAXPY), *stream, *graph, *executable;
         OK(hipStreamCreateWithFlags(&stream, 1));
         OK(hipStreamBeginCapture(stream, 1));
         OK(launch(function, 1, 64, 0, stream, 1.0f, x.address, y.address, 64));
         OK(launch(function, 1, 64, 0, stream, 2.0f, x.address, y.address, 64));
         OK(hipStreamEndCapture(stream, &graph));
         expect(y.read()[5] == 0.0f, "nothing runs while it is recorded");
         size_t nodes = 0;
         OK(hipGraphGetNodes(graph, nullptr, &nodes));
         expect(nodes == 2, "two nodes");
         OK(hipGraphInstantiateWithFlags(&executable, graph, 0));
         OK(hipGraphLaunch(executable, stream));
         OK(hipGraphLaunch(executable, stream));
         expect(y.read()[5] == 30.0f, "twice three times x");
         // A launch of the same shape with another factor can replace it; one of another shape cannot.
         OK(hipStreamBeginCapture(stream, 1));
         OK(launch(function, 1, 64, 0, stream, 10.0f, x.address, y.address, 64));
         OK(launch(function, 1, 64, 0, stream, 10.0f, x.address, y.address, 64));
         OK(hipStreamEndCapture(stream, &graph));
         void *error_node;
         int result;
         OK(hipGraphExecUpdate(executable, graph, &error_node, &result));
         OK(hipGraphLaunch(executable, stream));
         expect(y.read()[5] == 130.0f, "with the new factor");
         OK(hipStreamBeginCapture(stream, 1));
         OK(hipMemsetD32Async(y.address, 0, 64, stream));
         OK(hipStreamEndCapture(stream, &graph));
         expect(hipGraphExecUpdate(executable, graph, &error_node, &result) == hipErrorGraphExecUpdateFailure, "another shape");
     }},
    {"waiting voids a capture, and the stream is lost until it is destroyed", nullptr,
     [] {
         void *stream, *graph;
         OK(hipStreamCreateWithFlags(&stream, 1));
         OK(hipStreamBeginCapture(stream, 1));
         expect(hipStreamSynchronize(stream) == hipErrorStreamCaptureUnsupported, "no waiting while recording");
         expect(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated && !graph, "no graph");
         int state = 0;
         Buffer<float> y(4);
         OK(hipStreamIsCapturing(stream, &state));
         expect(state == 2, "a capture that failed is never over");
         expect(hipStreamSynchronize(stream) == hipErrorStreamCaptureUnsupported, "no waiting afterwards");
         expect(hipMemsetD32Async(y.address, 0, 4, stream) == hipErrorStreamCaptureInvalidated, "no work afterwards");
         OK(hipStreamDestroy(stream));
         OK(hipStreamCreateWithFlags(&stream, 1));
         OK(hipStreamSynchronize(stream));
     }},
    {"a forked capture has to be joined", nullptr,
     [] {
         void *one, *two, *fork, *join, *graph;
         OK(hipStreamCreateWithFlags(&one, 1));
         OK(hipStreamCreateWithFlags(&two, 1));
         OK(hipEventCreateWithFlags(&fork, 2));
         OK(hipEventCreateWithFlags(&join, 2));
         Buffer<float> y(4);
         for (const bool joined : {true, false}) {
             OK(hipStreamBeginCapture(one, 1));
             OK(hipEventRecord(fork, one));
             OK(hipStreamWaitEvent(two, fork, 0));
             OK(hipMemsetD32Async(y.address, 0, 4, two));
             OK(hipEventRecord(join, two));
             if (joined) OK(hipStreamWaitEvent(one, join, 0));
             const int status = hipStreamEndCapture(one, &graph);
             expect(status == (joined ? hipSuccess : hipErrorStreamCaptureUnjoined), "joined or an error");
         }
         for (void *stream : {one, two}) expect(hipStreamSynchronize(stream) == hipErrorStreamCaptureUnsupported, "both are lost");
     }},
    {"the vendor's library multiplies, with and without a workspace", nullptr,
     [] {
         SmallProduct product;
         OK(product.choose());
         expect(product.found == 2, "two algorithms");
         for (int algorithm = 0; algorithm < 2; algorithm++) {
             OK(product.run(algorithm, 256));
             // Columns of [0 2 4; 1 3 5] times columns of [0 3; 1 4; 2 5].
             expect(product.d.read() == std::vector<float>{10, 13, 28, 40}, "the product");
         }
     }},
    {"a product with too little workspace is refused", "bytes of workspace are not there",
     [] {
         SmallProduct product;
         OK(product.choose());
         expect(product.run(1, 16) == 3, "an invalid value");
     }},
    {"an algorithm of another product is refused", "chosen for another product",
     [] {
         SmallProduct product;
         OK(product.choose());
         const int transposed = 112;
         OK(hipblasLtMatmulDescSetAttribute(product.what, 0, &transposed, sizeof transposed));
         OK(hipblasLtMatrixLayoutCreate(&product.a_layout, 0, 3, 2, 3));
         expect(product.run(0, 256) == 3, "an invalid value");
     }},
    {"gfx90a has no mode that rounds operands for its matrix cores", nullptr,
     [] {
         SmallProduct product(6);
         expect(product.choose() == 7 && product.found == 0, "not supported");
     }, nullptr, "gfx90a"},
    {"hipBLASLt 7.1 offers the rounding mode on gfx11, too", nullptr,
     [] {
         SmallProduct product(6);
         expect(product.choose() == 0 && product.found > 0, "offered");
     }, nullptr, "gfx1100"},
    {"events measure time, but only timed ones", nullptr,
     [] {
         void *from, *to, *untimed;
         OK(hipEventCreateWithFlags(&from, 0));
         OK(hipEventCreateWithFlags(&to, 0));
         OK(hipEventCreateWithFlags(&untimed, 2));
         OK(hipEventRecord(from, nullptr));
         OK(hipEventRecord(untimed, nullptr));
         OK(hipEventRecord(to, nullptr));
         float ms = -1;
         OK(hipEventElapsedTime(&ms, from, to));
         expect(ms >= 0, "time passes forward");
         expect(hipEventElapsedTime(&ms, from, untimed) == hipErrorInvalidHandle, "no time of an untimed event");
     }},
    {"an image of something else is refused", "not compiled by the stand-in",
     [] {
         void *module;
         char elf[64] = "\x7f" "ELF";
         expect(hipModuleLoadData(&module, elf) == hipErrorInvalidImage, "error 200");
     }},
    {"a program that does not compile says why", nullptr,
     [] {
         void *program;
         OK(hiprtcCreateProgram(&program, "extern \"C\" __global__ void k() { nonsense(); }", "k", 0, nullptr, nullptr));
         expect(hiprtcCompileProgram(program, 0, nullptr) == 6, "error 6");
         size_t bytes;
         OK(hiprtcGetProgramLogSize(program, &bytes));
         std::string log(bytes, 0);
         OK(hiprtcGetProgramLog(program, log.data()));
         expect(log.find("nonsense") != std::string::npos && log.find("k:1") != std::string::npos, log);
     }},
    {"the nth allocation fails on demand, and only that one", nullptr,
     [] {
         void *address;
         OK(hipMalloc(&address, 4));
         expect(hipMalloc(&address, 4) == hipErrorOutOfMemory, "out of memory");
         OK(hipMalloc(&address, 4));
     },
     "HIP_STAND_IN_FAIL=hipMalloc#2=2"},
    {"a device lost on demand stays lost", nullptr,
     [] {
         Buffer<float> y(1);
         expect(launch(kernel(SAXPY), 1, 64, 0, nullptr, 1.0f, y.address, y.address, 0) == hipErrorLaunchFailure, "the launch");
         expect(hipStreamSynchronize(nullptr) == hipErrorLaunchFailure, "everything after it");
     },
     "HIP_STAND_IN_FAIL=hipModuleLaunchKernel#1=719!"},
    {"a call that hangs on demand never returns", nullptr,
     [] {
         const pid_t child = fork();
         if (child == 0) {
             void *address;
             OK(hipMalloc(&address, 4));
             hipMalloc(&address, 4);
             _exit(0);
         }
         usleep(200000);
         expect(waitpid(child, nullptr, WNOHANG) == 0, "it hangs");
         kill(child, SIGKILL);
         waitpid(child, nullptr, 0);
     },
     "HIP_STAND_IN_FAIL=hipMalloc#2=hang"},
    {"a machine without devices says so", nullptr,
     [] {
         int count = -1;
         expect(hipGetDeviceCount(&count) == hipErrorNoDevice && count == 0, "no device");
     },
     "HIP_STAND_IN_DEVICES=0"},
    {"more memory than the device has is refused", nullptr,
     [] {
         void *address;
         expect(hipMalloc(&address, size_t{1} << 30) == hipErrorOutOfMemory, "1 GiB of 128 MiB");
     }},
};

// Runs a case in its own process; returns its output and whether it passed.
bool run(const Case &test, std::string *output) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        if (test.environment) putenv(const_cast<char *>(test.environment));
        test.body();
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    char part[512];
    for (ssize_t count; (count = read(ends[0], part, sizeof part)) > 0;) output->append(part, static_cast<size_t>(count));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const bool complained = output->find("hip-stand-in: ") != std::string::npos;
    const bool as_expected = test.complaint ? complained && output->find(test.complaint) != std::string::npos : !complained;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && as_expected;
}

}  // namespace

int main(int argc, char **argv) {
    int failed = 0;
    for (const Case &test : CASES) {
        if (argc > 1 && !strstr(test.name, argv[1])) continue;
        if (test.architectures && !strstr(test.architectures, architecture())) continue;
        std::string output;
        const bool passed = run(test, &output);
        printf("%s %s\n", passed ? "ok    " : "FAILED", test.name);
        if (!passed || argc > 1) printf("%s", output.c_str());
        failed += !passed;
    }
    printf("%d failed\n", failed);
    return failed ? 1 : 0;
}
