// The part of hipBLASLt that multiplies matrices: descriptors, a heuristic that offers two algorithms, and products.
// Names, numbers and layouts are those of hipblaslt.h of ROCm 6.
//
// The first algorithm needs no workspace. The second splits the sum: partial sums go to the workspace, and a second
// kernel adds them. This reveals a workspace that is too small, or shared where it must not be.

#include <algorithm>
#include <initializer_list>

#include "../library/settings.h"
#include "../library/trace.h"
#include "product.h"

using namespace stand_in;
using namespace stand_in_blas;

namespace {

enum hipblasStatus : int {
    HIPBLAS_STATUS_SUCCESS = 0,
    HIPBLAS_STATUS_INVALID_VALUE = 3,
    HIPBLAS_STATUS_EXECUTION_FAILED = 5,
    HIPBLAS_STATUS_NOT_SUPPORTED = 7,
    HIPBLAS_STATUS_ARCH_MISMATCH = 8,
    HIPBLAS_STATUS_HANDLE_IS_NULLPTR = 9,
};

enum : int { OPERATION_NONE = 111, OPERATION_TRANSPOSE = 112 };
enum : int { HIP_R_32F = 0, HIP_R_16BF = 14 };
enum : int { COMPUTE_32F = 2, COMPUTE_32F_FAST_TF32 = 6 };

constexpr uint32_t MARK = 0x5a1da1c0;

// Descriptors begin with a mark of their kind, which reveals one that is passed for another.
struct Handle {
    uint32_t mark = MARK + 1;
};

struct Description {
    uint32_t mark = MARK + 2;
    int compute = 0;
    int a_operation = OPERATION_NONE;
    int b_operation = OPERATION_NONE;
};

struct Layout {
    uint32_t mark = MARK + 3;
    int type = HIP_R_32F;
    uint64_t rows = 0, columns = 0;
    int64_t leading = 0;
    int32_t batches = 1;
    int64_t batch_stride = 0;
};

struct Preference {
    uint32_t mark = MARK + 4;
    uint64_t workspace = 0;
};

// hipblasLtMatmulAlgo_t: 16 bytes private to the library, then a size.
struct Algorithm {
    uint32_t mark;
    uint32_t splits;
    uint64_t product;
    size_t max_workspace;
};
static_assert(sizeof(Algorithm) == 24, "hipblasLtMatmulAlgo_t");

// hipblasLtMatmulHeuristicResult_t.
struct Result {
    Algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};
static_assert(sizeof(Result) == 56, "hipblasLtMatmulHeuristicResult_t");

template <class T>
T *as(void *handle) {
    auto *object = static_cast<T *>(handle);
    return object && object->mark == T().mark ? object : nullptr;
}

template <class T>
int make(const char *call, void **handle) {
    if (int status = enter(call)) return status;
    *handle = new T;
    return leave(call, HIPBLAS_STATUS_SUCCESS);
}

template <class T>
int destroy(const char *call, void *handle) {
    if (int status = enter(call)) return status;
    T *object = as<T>(handle);
    if (!object) {
        complain(std::string(call) + ": not such a descriptor, or destroyed before");
        return leave(call, HIPBLAS_STATUS_INVALID_VALUE);
    }
    object->mark = 0;
    delete object;
    return leave(call, HIPBLAS_STATUS_SUCCESS);
}

// hipBLASLt serves CDNA, and RDNA from gfx1100 on; other GPUs have only rocBLAS.
bool served() {
    const std::string arch = architecture();
    return arch.rfind("gfx9", 0) == 0 || arch.rfind("gfx11", 0) == 0 || arch.rfind("gfx12", 0) == 0;
}

// Builds the product of these descriptors, without addresses and factors; returns false if they do not fit together.
bool product_of(const Description &what, const Layout &a, const Layout &b, const Layout &c, const Layout &d, Product *product) {
    auto element = [](int type) { return type == HIP_R_32F ? Element::F32 : Element::Bf16; };
    auto matrix = [&](const Layout &layout) { return Matrix{nullptr, element(layout.type), layout.leading, layout.batch_stride}; };
    for (const Layout *layout : {&a, &b, &c, &d}) {
        if (layout->type != HIP_R_32F && layout->type != HIP_R_16BF) return false;
        if (layout->leading < static_cast<int64_t>(layout->rows) || layout->batches != d.batches) return false;
    }
    const bool a_transposed = what.a_operation == OPERATION_TRANSPOSE, b_transposed = what.b_operation == OPERATION_TRANSPOSE;
    const uint64_t m = a_transposed ? a.columns : a.rows, k = a_transposed ? a.rows : a.columns;
    const uint64_t n = b_transposed ? b.rows : b.columns, k_of_b = b_transposed ? b.columns : b.rows;
    if (k != k_of_b || d.rows != m || d.columns != n || c.rows != m || c.columns != n || c.type != d.type) return false;
    *product = {matrix(a), matrix(b), matrix(c), matrix(d), a_transposed, b_transposed,
                static_cast<int64_t>(m), static_cast<int64_t>(n), static_cast<int64_t>(k), d.batches};
    product->xf32 = what.compute == COMPUTE_32F_FAST_TF32;
    return true;
}

// Identifies a product, so that an algorithm chosen for one product is refused for another.
uint64_t fingerprint(const Product &product) {
    uint64_t value = MARK;
    for (const int64_t part : {product.m, product.n, product.k, product.batches, product.a.leading, product.b.leading,
                               product.d.leading, int64_t{product.a_transposed}, int64_t{product.b_transposed},
                               static_cast<int64_t>(product.a.type), static_cast<int64_t>(product.d.type), int64_t{product.xf32}}) {
        value = (value ^ static_cast<uint64_t>(part)) * 0x100000001b3u;
    }
    return value;
}

constexpr uint32_t SPLITS = 2;

size_t workspace_of(const Product &product, uint32_t splits) {
    return splits == 1 ? 0 : sizeof(float) * splits * static_cast<size_t>(product.m * product.n * product.batches);
}

int run(const Product &product, const Algorithm &algorithm, void *workspace, void *stream) {
    if (algorithm.splits == 1) return submit(stream, "hipblaslt_gemm", [product] {
        const int clash = product.touch();
        if (!clash) product.run();
        return clash;
    });
    auto *partial = static_cast<float *>(workspace);
    auto place = [product](uint32_t split, int64_t row, int64_t column, int64_t batch) {
        return ((split * product.batches + batch) * product.n + column) * product.m + row;
    };
    const size_t bytes = workspace_of(product, algorithm.splits);
    const int status = submit(stream, "hipblaslt_partial_sums", [product, partial, place, bytes] {
        if (int clash = hip_stand_in_touch("a matrix product", partial, bytes, 1)) return clash;
        product.each([&](int64_t row, int64_t column, int64_t batch) {
            for (uint32_t split = 0; split < SPLITS; split++) {
                const int64_t from = product.k * split / SPLITS, to = product.k * (split + 1) / SPLITS;
                partial[place(split, row, column, batch)] = static_cast<float>(product.sum(row, column, batch, from, to));
            }
        });
        return 0;
    });
    if (status != hipSuccess) return status;
    return submit(stream, "hipblaslt_add", [product, partial, place, bytes] {
        int clash = hip_stand_in_touch("a matrix product", partial, bytes, 0);
        if (!clash) clash = product.touch();
        if (clash) return clash;
        product.each([&](int64_t row, int64_t column, int64_t batch) {
            double sum = 0;
            for (uint32_t split = 0; split < SPLITS; split++) sum += static_cast<double>(partial[place(split, row, column, batch)]);
            product.finish(row, column, batch, sum);
        });
        return 0;
    });
}

}  // namespace

extern "C" {

int hipblasLtCreate(void **handle) {
    if (!served()) return leave("hipblasLtCreate", HIPBLAS_STATUS_ARCH_MISMATCH);
    return make<Handle>("hipblasLtCreate", handle);
}

int hipblasLtDestroy(void *handle) { return destroy<Handle>("hipblasLtDestroy", handle); }

int hipblasLtGetVersion(void *handle, int *version) {
    if (int status = enter("hipblasLtGetVersion")) return status;
    *version = 10'00'00;
    return leave("hipblasLtGetVersion", as<Handle>(handle) ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_HANDLE_IS_NULLPTR);
}

int hipblasLtMatmulDescCreate(void **handle, int compute, int scale_type) {
    const int status = make<Description>("hipblasLtMatmulDescCreate", handle);
    if (status != HIPBLAS_STATUS_SUCCESS) return status;
    as<Description>(*handle)->compute = compute;
    return scale_type == HIP_R_32F ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_NOT_SUPPORTED;
}

int hipblasLtMatmulDescDestroy(void *handle) { return destroy<Description>("hipblasLtMatmulDescDestroy", handle); }

int hipblasLtMatmulDescSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
    if (int status = enter("hipblasLtMatmulDescSetAttribute")) return status;
    Description *what = as<Description>(handle);
    // HIPBLASLT_MATMUL_DESC_TRANSA and _TRANSB.
    int *place = !what ? nullptr : attribute == 0 ? &what->a_operation : attribute == 1 ? &what->b_operation : nullptr;
    const bool taken = place && bytes == sizeof *place;
    if (taken) memcpy(place, value, bytes);
    const bool known = taken && (*place == OPERATION_NONE || *place == OPERATION_TRANSPOSE);
    return leave("hipblasLtMatmulDescSetAttribute", known ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_INVALID_VALUE);
}

int hipblasLtMatrixLayoutCreate(void **handle, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    const int status = make<Layout>("hipblasLtMatrixLayoutCreate", handle);
    if (status != HIPBLAS_STATUS_SUCCESS) return status;
    Layout *layout = as<Layout>(*handle);
    layout->type = type;
    layout->rows = rows;
    layout->columns = columns;
    layout->leading = leading;
    return HIPBLAS_STATUS_SUCCESS;
}

int hipblasLtMatrixLayoutDestroy(void *handle) { return destroy<Layout>("hipblasLtMatrixLayoutDestroy", handle); }

int hipblasLtMatrixLayoutSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
    if (int status = enter("hipblasLtMatrixLayoutSetAttribute")) return status;
    Layout *layout = as<Layout>(handle);
    bool taken = false;
    // HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT and _STRIDED_BATCH_OFFSET.
    if (layout && attribute == 0 && bytes == sizeof layout->batches) {
        memcpy(&layout->batches, value, bytes);
        taken = true;
    } else if (layout && attribute == 1 && bytes == sizeof layout->batch_stride) {
        memcpy(&layout->batch_stride, value, bytes);
        taken = true;
    }
    return leave("hipblasLtMatrixLayoutSetAttribute", taken ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_INVALID_VALUE);
}

int hipblasLtMatmulPreferenceCreate(void **handle) { return make<Preference>("hipblasLtMatmulPreferenceCreate", handle); }

int hipblasLtMatmulPreferenceDestroy(void *handle) { return destroy<Preference>("hipblasLtMatmulPreferenceDestroy", handle); }

int hipblasLtMatmulPreferenceSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
    if (int status = enter("hipblasLtMatmulPreferenceSetAttribute")) return status;
    Preference *preference = as<Preference>(handle);
    // HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES.
    const bool taken = preference && attribute == 1 && bytes == sizeof preference->workspace;
    if (taken) memcpy(&preference->workspace, value, bytes);
    return leave("hipblasLtMatmulPreferenceSetAttribute", taken ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_INVALID_VALUE);
}

int hipblasLtMatmulAlgoGetHeuristic(void *handle, void *description, void *a, void *b, void *c, void *d, void *preference,
                                    int limit, void *results, int *found) {
    const char *call = "hipblasLtMatmulAlgoGetHeuristic";
    if (int status = enter(call)) return status;
    *found = 0;
    const Description *what = as<Description>(description);
    const Layout *layouts[] = {as<Layout>(a), as<Layout>(b), as<Layout>(c), as<Layout>(d)};
    const Preference *wanted = as<Preference>(preference);
    Product product;
    const bool valid = as<Handle>(handle) && what && wanted && layouts[0] && layouts[1] && layouts[2] && layouts[3] &&
                       product_of(*what, *layouts[0], *layouts[1], *layouts[2], *layouts[3], &product);
    if (!valid) {
        complain("hipblasLtMatmulAlgoGetHeuristic: descriptors that do not fit together");
        return leave(call, HIPBLAS_STATUS_INVALID_VALUE);
    }
    // A library built for other GPUs loads and offers no algorithm.
    if (setting("HIP_STAND_IN_LT", "on") == "empty") return leave(call, HIPBLAS_STATUS_SUCCESS, {{"found", "0"}});
    // Only the matrix cores of gfx942 have an XF32 mode. hipBLASLt 7.1 still offers it on gfx11.
    const std::string arch = architecture();
    const bool xf32 = arch == "gfx942" || arch.rfind("gfx11", 0) == 0;
    const bool computed = what->compute == COMPUTE_32F || (what->compute == COMPUTE_32F_FAST_TF32 && xf32);
    if (!computed) return leave(call, HIPBLAS_STATUS_NOT_SUPPORTED);
    for (const uint32_t splits : {1u, SPLITS}) {
        const size_t workspace = workspace_of(product, splits);
        if (*found == limit || workspace > wanted->workspace) continue;
        static_cast<Result *>(results)[(*found)++] = {{MARK, splits, fingerprint(product), workspace}, workspace, HIPBLAS_STATUS_SUCCESS, 1.0f, {}};
    }
    return leave(call, HIPBLAS_STATUS_SUCCESS, {{"found", number(static_cast<unsigned long long>(*found))}});
}

int hipblasLtMatmul(void *handle, void *description, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
                    const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const void *algorithm_bytes,
                    void *workspace, size_t workspace_bytes, void *stream) {
    const char *call = "hipblasLtMatmul";
    if (int status = enter(call)) return status;
    const Description *what = as<Description>(description);
    const Layout *layouts[] = {as<Layout>(a_layout), as<Layout>(b_layout), as<Layout>(c_layout), as<Layout>(d_layout)};
    Product product;
    const bool valid = as<Handle>(handle) && what && layouts[0] && layouts[1] && layouts[2] && layouts[3] &&
                       product_of(*what, *layouts[0], *layouts[1], *layouts[2], *layouts[3], &product);
    if (!valid) return leave(call, HIPBLAS_STATUS_INVALID_VALUE);
    Algorithm algorithm;
    memcpy(&algorithm, algorithm_bytes, sizeof algorithm);
    if (algorithm.mark != MARK || algorithm.product != fingerprint(product)) {
        complain("hipblasLtMatmul: an algorithm that was chosen for another product");
        return leave(call, HIPBLAS_STATUS_INVALID_VALUE);
    }
    auto memory = [](const void *address) { return static_cast<char *>(const_cast<void *>(address)); };
    product.a.start = memory(a);
    product.b.start = memory(b);
    product.c.start = memory(c);
    product.d.start = memory(d);
    product.alpha = *static_cast<const float *>(alpha);
    product.beta = *static_cast<const float *>(beta);
    const size_t needed = workspace_of(product, algorithm.splits);
    if (needed > workspace_bytes || (needed > 0 && !hip_stand_in_inside(workspace, needed))) {
        complain("hipblasLtMatmul: " + number(needed) + " bytes of workspace are not there");
        return leave(call, HIPBLAS_STATUS_INVALID_VALUE);
    }
    if (!product.fits()) return leave(call, HIPBLAS_STATUS_EXECUTION_FAILED);
    const int status = run(product, algorithm, workspace, stream);
    return leave(call, status == hipSuccess ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_EXECUTION_FAILED,
                 {{"m", number(static_cast<unsigned long long>(product.m))},
                  {"n", number(static_cast<unsigned long long>(product.n))},
                  {"k", number(static_cast<unsigned long long>(product.k))},
                  {"splits", number(algorithm.splits)}});
}

}  // extern "C"
