// rocBLAS, as much of it as multiplies matrices: column-major, in double precision, on the stream it was given.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "../library/hip.h"

extern "C" int hip_stand_in_submit(void *stream, const char *shape, int (*run)(void *), void *data, void (*release)(void *));
extern "C" int hip_stand_in_inside(const void *address, size_t bytes);

namespace {

enum rocblas_status : int {
    rocblas_status_success = 0,
    rocblas_status_invalid_handle = 1,
    rocblas_status_invalid_pointer = 3,
    rocblas_status_invalid_size = 4,
    rocblas_status_internal_error = 6,
    rocblas_status_not_implemented = 2,
};

enum : int { OPERATION_NONE = 111, OPERATION_TRANSPOSE = 112 };
enum : int { TYPE_F32 = 151, TYPE_BF16 = 168 };

struct Handle {
    void *stream = nullptr;
};

struct Matrix {
    char *start;
    int type;
    int64_t leading;
    int64_t batch_stride;

    size_t size() const { return type == TYPE_F32 ? 4 : 2; }
    char *at(int64_t row, int64_t column, int64_t batch) const {
        return start + static_cast<size_t>(batch * batch_stride + column * leading + row) * size();
    }
    double get(int64_t row, int64_t column, int64_t batch) const {
        uint32_t bits = 0;
        if (type == TYPE_F32) {
            memcpy(&bits, at(row, column, batch), 4);
        } else {
            uint16_t half;
            memcpy(&half, at(row, column, batch), 2);
            bits = static_cast<uint32_t>(half) << 16;
        }
        float value;
        memcpy(&value, &bits, 4);
        return value;
    }
    void set(int64_t row, int64_t column, int64_t batch, double value) const {
        const auto single = static_cast<float>(value);
        uint32_t bits;
        memcpy(&bits, &single, 4);
        if (type == TYPE_F32) {
            memcpy(at(row, column, batch), &bits, 4);
            return;
        }
        const bool nan = single != single;
        const auto half = static_cast<uint16_t>((nan ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
        memcpy(at(row, column, batch), &half, 2);
    }
    bool inside(int64_t rows, int64_t columns, int64_t batches) const {
        if (rows == 0 || columns == 0 || batches == 0) return true;
        const char *last = at(rows - 1, columns - 1, batches - 1);
        return hip_stand_in_inside(start, static_cast<size_t>(last - start) + size());
    }
};

struct Product {
    Matrix a, b, c, d;
    bool a_transposed, b_transposed;
    int64_t m, n, k, batches;
    double alpha, beta;

    void run() const {
        for (int64_t batch = 0; batch < batches; batch++)
            for (int64_t column = 0; column < n; column++)
                for (int64_t row = 0; row < m; row++) {
                    double sum = 0;
                    for (int64_t i = 0; i < k; i++) {
                        sum += (a_transposed ? a.get(i, row, batch) : a.get(row, i, batch)) *
                               (b_transposed ? b.get(column, i, batch) : b.get(i, column, batch));
                    }
                    // With beta 0, c is not read: it may hold anything.
                    d.set(row, column, batch, alpha * sum + (beta == 0 ? 0 : beta * c.get(row, column, batch)));
                }
    }
};

}  // namespace

extern "C" {

int rocblas_create_handle(void **handle) {
    *handle = new Handle;
    return rocblas_status_success;
}

int rocblas_destroy_handle(void *handle) {
    delete static_cast<Handle *>(handle);
    return rocblas_status_success;
}

int rocblas_set_stream(void *handle, void *stream) {
    static_cast<Handle *>(handle)->stream = stream;
    return rocblas_status_success;
}

int rocblas_set_workspace(void *, void *, size_t) { return rocblas_status_success; }

const char *rocblas_status_to_string(int status) {
    switch (status) {
        case rocblas_status_success: return "rocblas_status_success";
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
    if (!handle) return rocblas_status_invalid_handle;
    auto matrix = [](const void *start, int type, int32_t leading, int64_t stride) {
        return Matrix{static_cast<char *>(const_cast<void *>(start)), type, leading, stride};
    };
    for (const int type : {a_type, b_type, c_type, d_type}) {
        if (type != TYPE_F32 && type != TYPE_BF16) return rocblas_status_not_implemented;
    }
    if (compute_type != TYPE_F32) return rocblas_status_not_implemented;
    const bool a_transposed = operation_a == OPERATION_TRANSPOSE, b_transposed = operation_b == OPERATION_TRANSPOSE;
    if (lda < (a_transposed ? k : m) || ldb < (b_transposed ? n : k) || ldc < m || ldd < m) return rocblas_status_invalid_size;
    auto *product = new Product{matrix(a, a_type, lda, stride_a), matrix(b, b_type, ldb, stride_b), matrix(c, c_type, ldc, stride_c),
                                matrix(d, d_type, ldd, stride_d), a_transposed, b_transposed, m, n, k, batches, 0, 0};
    product->alpha = *static_cast<const float *>(alpha);
    product->beta = *static_cast<const float *>(beta);
    const bool fits = product->a.inside(a_transposed ? k : m, a_transposed ? m : k, batches) &&
                      product->b.inside(b_transposed ? n : k, b_transposed ? k : n, batches) &&
                      (product->beta == 0 || product->c.inside(m, n, batches)) && product->d.inside(m, n, batches);
    if (!fits) {
        fprintf(stderr, "hip-stand-in: a matrix product reaches outside of its buffers\n");
        delete product;
        return rocblas_status_invalid_pointer;
    }
    const int status = hip_stand_in_submit(
        static_cast<Handle *>(handle)->stream, "rocblas_gemm",
        [](void *data) {
            static_cast<Product *>(data)->run();
            return 0;
        },
        product, [](void *data) { delete static_cast<Product *>(data); });
    return status == hipSuccess ? rocblas_status_success : rocblas_status_internal_error;
}

}  // extern "C"
