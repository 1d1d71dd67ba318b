// A product of matrices as both libraries compute it here: column-major, in double precision, on the stream of the caller.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "../library/hip.h"

extern "C" int hip_stand_in_submit(void *stream, const char *shape, int (*run)(void *), void *data, void (*release)(void *));
extern "C" int hip_stand_in_touch(const char *what, const void *address, size_t bytes, int writes);
extern "C" int hip_stand_in_inside(const void *address, size_t bytes);

namespace stand_in_blas {

enum class Element { F32, Bf16 };

struct Matrix {
    char *start;
    Element type;
    int64_t leading;
    int64_t batch_stride;

    size_t size() const { return type == Element::F32 ? 4 : 2; }
    char *at(int64_t row, int64_t column, int64_t batch) const {
        return start + static_cast<size_t>(batch * batch_stride + column * leading + row) * size();
    }
    float get(int64_t row, int64_t column, int64_t batch) const {
        uint32_t bits = 0;
        if (type == Element::F32) {
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
        if (type == Element::F32) {
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

// Rounds to the 10 bits of mantissa that XF32 keeps.
inline float to_xf32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (value == value) bits = (bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu;
    memcpy(&value, &bits, 4);
    return value;
}

// d = alpha op(a) op(b) + beta c.
struct Product {
    Matrix a, b, c, d;
    bool a_transposed, b_transposed;
    int64_t m, n, k, batches;
    double alpha = 1, beta = 0;
    bool xf32 = false;

    float left(int64_t row, int64_t i, int64_t batch) const {
        const float value = a_transposed ? a.get(i, row, batch) : a.get(row, i, batch);
        return xf32 ? to_xf32(value) : value;
    }
    float right(int64_t i, int64_t column, int64_t batch) const {
        const float value = b_transposed ? b.get(column, i, batch) : b.get(i, column, batch);
        return xf32 ? to_xf32(value) : value;
    }
    double sum(int64_t row, int64_t column, int64_t batch, int64_t from, int64_t to) const {
        double sum = 0;
        for (int64_t i = from; i < to; i++) sum += static_cast<double>(left(row, i, batch)) * right(i, column, batch);
        return sum;
    }
    // With beta 0, c is not read, so it may hold any value.
    void finish(int64_t row, int64_t column, int64_t batch, double sum) const {
        d.set(row, column, batch, alpha * sum + (beta == 0 ? 0 : beta * static_cast<double>(c.get(row, column, batch))));
    }
    template <class F>
    void each(F visit) const {
        for (int64_t batch = 0; batch < batches; batch++)
            for (int64_t column = 0; column < n; column++)
                for (int64_t row = 0; row < m; row++) visit(row, column, batch);
    }
    void run() const {
        each([&](int64_t row, int64_t column, int64_t batch) { finish(row, column, batch, sum(row, column, batch, 0, k)); });
    }
    // Notes the memory that it reads and writes: returns 0, or an error if that clashes with other work.
    int touch() const {
        int clash = 0;
        auto columns = [&](const Matrix &matrix, int64_t rows, int64_t count, int writes) {
            for (int64_t batch = 0; batch < batches && !clash; batch++)
                for (int64_t column = 0; column < count && !clash; column++) {
                    clash = hip_stand_in_touch("a matrix product", matrix.at(0, column, batch), static_cast<size_t>(rows) * matrix.size(), writes);
                }
        };
        columns(a, a_transposed ? k : m, a_transposed ? m : k, 0);
        columns(b, b_transposed ? n : k, b_transposed ? k : n, 0);
        if (beta != 0) columns(c, m, n, 0);
        columns(d, m, n, 1);
        return clash;
    }
    // Returns whether every operand lies in one allocation. Reports an operand that does not, because on a GPU this is a fault.
    bool fits() const {
        const bool fits = a.inside(a_transposed ? k : m, a_transposed ? m : k, batches) &&
                          b.inside(b_transposed ? n : k, b_transposed ? k : n, batches) &&
                          (beta == 0 || c.inside(m, n, batches)) && d.inside(m, n, batches);
        if (!fits) fprintf(stderr, "hip-stand-in: a matrix product reaches outside of its buffers\n");
        return fits;
    }
};

// Puts `work` into `stream`, or into the graph that it records; returns an error of HIP.
template <class F>
int submit(void *stream, const char *shape, F work) {
    return hip_stand_in_submit(
        stream, shape,
        [](void *data) {
            return (*static_cast<F *>(data))();
        },
        new F(work), [](void *data) { delete static_cast<F *>(data); });
}

}  // namespace stand_in_blas
