// The part of rocBLAS that multiplies matrices.

#include <initializer_list>

#include "../library/trace.h"
#include "product.h"

using namespace stand_in;
using namespace stand_in_blas;

namespace {

enum rocblas_status : int {
    rocblas_status_success = 0,
    rocblas_status_invalid_handle = 1,
    rocblas_status_not_implemented = 2,
    rocblas_status_invalid_pointer = 3,
    rocblas_status_invalid_size = 4,
    rocblas_status_internal_error = 6,
};

enum : int { OPERATION_TRANSPOSE = 112 };
enum : int { TYPE_F32 = 151, TYPE_BF16 = 168 };

struct Handle {
    void *stream = nullptr;
};

}  // namespace

extern "C" {

int rocblas_create_handle(void **handle) {
    if (int status = enter("rocblas_create_handle")) return status;
    *handle = new Handle;
    return leave("rocblas_create_handle", rocblas_status_success);
}

int rocblas_destroy_handle(void *handle) {
    if (int status = enter("rocblas_destroy_handle")) return status;
    delete static_cast<Handle *>(handle);
    return leave("rocblas_destroy_handle", rocblas_status_success);
}

int rocblas_set_stream(void *handle, void *stream) {
    if (!handle) return rocblas_status_invalid_handle;
    static_cast<Handle *>(handle)->stream = stream;
    return rocblas_status_success;
}

int rocblas_set_workspace(void *, void *address, size_t bytes) {
    return bytes == 0 || hip_stand_in_inside(address, bytes) ? rocblas_status_success : rocblas_status_invalid_pointer;
}

const char *rocblas_status_to_string(int status) {
    switch (status) {
        case rocblas_status_success: return "rocblas_status_success";
        case rocblas_status_invalid_handle: return "rocblas_status_invalid_handle";
        case rocblas_status_invalid_pointer: return "rocblas_status_invalid_pointer";
        case rocblas_status_invalid_size: return "rocblas_status_invalid_size";
        case rocblas_status_not_implemented: return "rocblas_status_not_implemented";
        default: return "rocblas_status_internal_error";
    }
}

int rocblas_gemm_strided_batched_ex(void *handle, int operation_a, int operation_b, int32_t m, int32_t n, int32_t k,
                                    const void *alpha, const void *a, int a_type, int32_t lda, int64_t stride_a, const void *b,
                                    int b_type, int32_t ldb, int64_t stride_b, const void *beta, const void *c, int c_type,
                                    int32_t ldc, int64_t stride_c, void *d, int d_type, int32_t ldd, int64_t stride_d,
                                    int32_t batches, int compute_type, int, int32_t, uint32_t) {
    const char *call = "rocblas_gemm_strided_batched_ex";
    if (int status = enter(call)) return status;
    if (!handle) return leave(call, rocblas_status_invalid_handle);
    for (const int type : {a_type, b_type, c_type, d_type}) {
        if (type != TYPE_F32 && type != TYPE_BF16) return leave(call, rocblas_status_not_implemented);
    }
    if (compute_type != TYPE_F32) return leave(call, rocblas_status_not_implemented);
    const bool a_transposed = operation_a == OPERATION_TRANSPOSE, b_transposed = operation_b == OPERATION_TRANSPOSE;
    if (lda < (a_transposed ? k : m) || ldb < (b_transposed ? n : k) || ldc < m || ldd < m) {
        return leave(call, rocblas_status_invalid_size);
    }
    auto matrix = [](const void *start, int type, int32_t leading, int64_t stride) {
        return Matrix{static_cast<char *>(const_cast<void *>(start)), type == TYPE_F32 ? Element::F32 : Element::Bf16, leading, stride};
    };
    Product product = {matrix(a, a_type, lda, stride_a), matrix(b, b_type, ldb, stride_b), matrix(c, c_type, ldc, stride_c),
                       matrix(d, d_type, ldd, stride_d), a_transposed, b_transposed, m, n, k, batches};
    product.alpha = *static_cast<const float *>(alpha);
    product.beta = *static_cast<const float *>(beta);
    if (!product.fits()) return leave(call, rocblas_status_invalid_pointer);
    const int status = submit(static_cast<Handle *>(handle)->stream, "rocblas_gemm", [product] {
        const int clash = product.touch();
        if (!clash) product.run();
        return clash;
    });
    return leave(call, status == hipSuccess ? rocblas_status_success : rocblas_status_internal_error,
                 {{"m", number(m)}, {"n", number(n)}, {"k", number(k)}, {"batches", number(batches)}});
}

}  // extern "C"
