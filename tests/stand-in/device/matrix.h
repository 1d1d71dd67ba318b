// AMD's matrix instructions, under clang's names on the architectures that have them. All lanes of a wave execute one
// together. AMD's matrix instruction calculator gives the places of elements (../layouts); self_test.cpp compares them
// with this file. Products are added one after the other in f32. The order in which a GPU adds them is not known.
#pragma once

#include "abi.h"

// A mistake that HIP_STAND_IN_PLANT selects: each lane gets the result of the lane in which this bit differs.
#if !defined(STAND_IN_EXCHANGED_LANES)
#define STAND_IN_EXCHANGED_LANES 0
#endif

// Names in capitals are left to the kernels' macros.
namespace stand_in {

template <class T, int count>
struct VectorOf {
    typedef T Type __attribute__((ext_vector_type(count)));
};
// A vector of one element is a plain number.
template <class T>
struct VectorOf<T, 1> {
    typedef T Type;
};
template <class T, int count>
using Vector = typename VectorOf<T, count>::Type;

STAND_IN_INLINE float number_of(float x) { return x; }
STAND_IN_INLINE float number_of(_Float16 x) { return (float)x; }
// bf16 arguments are the bits of a short.
STAND_IN_INLINE float number_of(short x) { return __builtin_bit_cast(float, (unsigned)(unsigned short)x << 16); }

struct Full {
    STAND_IN_UNCHECKED static inline float of(float x) { return x; }
};
// Rounds to xf32, which has ten bits of mantissa; to nearest, ties to even.
struct Rounded {
    STAND_IN_UNCHECKED static inline float of(float x) {
        unsigned bits = __builtin_bit_cast(unsigned, x);
        if (x == x) bits = (bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu;
        return __builtin_bit_cast(float, bits);
    }
};

// MFMA of `size` rows and columns; lanes hold `share` elements of a row or column.
template <int size_, int share_>
struct Mfma {
    static constexpr int wave = 64, size = size_, share = share_, groups = wave / size, depth = groups * share, held = size * size / wave;
    static constexpr bool same_halves = false;
    STAND_IN_UNCHECKED static inline int lane_of_operand(int row, int k) { return row + size * (k / share); }
    STAND_IN_UNCHECKED static inline int element_of_operand(int k) { return k % share; }
    STAND_IN_UNCHECKED static inline int lane_of_result(int row, int column) { return column + size * (row / 4 % groups); }
    STAND_IN_UNCHECKED static inline int element_of_result(int row) { return row / 4 / groups * 4 + row % 4; }
};

// WMMA of gfx11 in waves of 32, whose upper half supplies the lower half's operands again.
struct Wmma {
    static constexpr int wave = 32, size = 16, share = 16, depth = 16, held = 8;
    static constexpr bool same_halves = true;
    STAND_IN_UNCHECKED static inline int lane_of_operand(int row, int) { return row; }
    STAND_IN_UNCHECKED static inline int element_of_operand(int k) { return k; }
    STAND_IN_UNCHECKED static inline int lane_of_result(int row, int column) { return column + 16 * (row % 2); }
    STAND_IN_UNCHECKED static inline int element_of_result(int row) { return row / 2; }
};

// WMMA of gfx12 in waves of 32. Each half supplies other operands.
struct Wmma12 {
    static constexpr int wave = 32, size = 16, share = 8, depth = 16, held = 8;
    static constexpr bool same_halves = false;
    STAND_IN_UNCHECKED static inline int lane_of_operand(int row, int k) { return row + 16 * (k / 4 % 2); }
    STAND_IN_UNCHECKED static inline int element_of_operand(int k) { return k / 8 * 4 + k % 4; }
    STAND_IN_UNCHECKED static inline int lane_of_result(int row, int column) { return column + 16 * (row / 8); }
    STAND_IN_UNCHECKED static inline int element_of_result(int row) { return row % 8; }
};

template <class Layout, class T, class Rounding>
struct MatrixInstruction : Together {
    Vector<T, Layout::share> a, b;
    Vector<float, Layout::held> d;

    template <class V>
    STAND_IN_UNCHECKED static inline float element(const V &vector, int index) {
        if constexpr (sizeof(V) == sizeof(T)) return Rounding::of(number_of(vector));
        else return Rounding::of(number_of(vector[index]));
    }

    STAND_IN_UNCHECKED static const char *carry_out_all(Together *const *together) {
        auto lane = [&](int index) STAND_IN_UNCHECKED { return static_cast<MatrixInstruction *>(together[index]); };
        if (hip_stand_in_grid.wave_size != Layout::wave) return "has a matrix instruction for waves of another size";
        for (int i = 0; Layout::same_halves && i < 16; i++) {
            if (__builtin_memcmp(&lane(i)->a, &lane(i + 16)->a, sizeof(a)) || __builtin_memcmp(&lane(i)->b, &lane(i + 16)->b, sizeof(b)))
                return "brings other operands to a matrix instruction in the upper half of the wave than in the lower";
        }
        for (int row = 0; row < Layout::size; row++)
            for (int column = 0; column < Layout::size; column++) {
                const int to = Layout::lane_of_result(row, column) ^ STAND_IN_EXCHANGED_LANES;
                float &sum = reinterpret_cast<float *>(&lane(to)->d)[Layout::element_of_result(row)];
                for (int k = 0; k < Layout::depth; k++) {
                    const int of_row = Layout::lane_of_operand(row, k), of_column = Layout::lane_of_operand(column, k);
                    const int at = Layout::element_of_operand(k);
                    sum = __builtin_fmaf(element(lane(of_row)->a, at), element(lane(of_column)->b, at), sum);
                }
            }
        return nullptr;
    }
};

template <class Layout, class T, class Rounding = Full>
STAND_IN_MEETING Vector<float, Layout::held> multiply_matrices(Vector<T, Layout::share> a, Vector<T, Layout::share> b,
                                                               Vector<float, Layout::held> c, const void *place) {
    MatrixInstruction<Layout, T, Rounding> mine;
    mine.carry_out = MatrixInstruction<Layout, T, Rounding>::carry_out_all;
    mine.a = a;
    mine.b = b;
    mine.d = c;
    uint64_t active;
    hip_stand_in_runtime->wave(place, WaveOperation::Together, (uint64_t)static_cast<Together *>(&mine), 0, &active);
    return mine.d;
}

}  // namespace stand_in

// The last three arguments of an MFMA exchange blocks of operands, which these shapes do not have.
#define STAND_IN_MFMA(name, layout, type, count, ...)                                                                   \
    STAND_IN_MEETING stand_in::Vector<float, stand_in::layout::held> stand_in_##name(                                   \
        stand_in::Vector<type, count> a, stand_in::Vector<type, count> b,                                               \
        stand_in::Vector<float, stand_in::layout::held> c, int, int, int) {                                             \
        return stand_in::multiply_matrices<stand_in::layout, type, ##__VA_ARGS__>(a, b, c, STAND_IN_PLACE);             \
    }
#define STAND_IN_WMMA(name, layout, type)                                                                               \
    STAND_IN_MEETING stand_in::Vector<float, 8> stand_in_##name(                                                        \
        stand_in::Vector<type, stand_in::layout::share> a, stand_in::Vector<type, stand_in::layout::share> b,           \
        stand_in::Vector<float, 8> c) {                                                                                 \
        return stand_in::multiply_matrices<stand_in::layout, type>(a, b, c, STAND_IN_PLACE);                            \
    }

namespace stand_in {
using Mfma16x4 = Mfma<16, 1>;
using Mfma16x8 = Mfma<16, 2>;
using Mfma16x16 = Mfma<16, 4>;
using Mfma32x2 = Mfma<32, 1>;
using Mfma32x8 = Mfma<32, 4>;
}  // namespace stand_in

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
STAND_IN_MFMA(mfma_f32_16x16x4f32, Mfma16x4, float, 1)
STAND_IN_MFMA(mfma_f32_32x32x2f32, Mfma32x2, float, 1)
#define __builtin_amdgcn_mfma_f32_16x16x4f32 stand_in_mfma_f32_16x16x4f32
#define __builtin_amdgcn_mfma_f32_32x32x2f32 stand_in_mfma_f32_32x32x2f32
#endif
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
STAND_IN_MFMA(mfma_f32_16x16x16bf16_1k, Mfma16x16, short, 4)
STAND_IN_MFMA(mfma_f32_32x32x8bf16_1k, Mfma32x8, short, 4)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k stand_in_mfma_f32_16x16x16bf16_1k
#define __builtin_amdgcn_mfma_f32_32x32x8bf16_1k stand_in_mfma_f32_32x32x8bf16_1k
#endif
#if defined(__gfx942__)
STAND_IN_MFMA(mfma_f32_16x16x8_xf32, Mfma16x8, float, 2, stand_in::Rounded)
#define __builtin_amdgcn_mfma_f32_16x16x8_xf32 stand_in_mfma_f32_16x16x8_xf32
#endif
#if defined(__GFX11__)
STAND_IN_WMMA(wmma_f32_16x16x16_bf16_w32, Wmma, short)
STAND_IN_WMMA(wmma_f32_16x16x16_f16_w32, Wmma, _Float16)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32 stand_in_wmma_f32_16x16x16_bf16_w32
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32 stand_in_wmma_f32_16x16x16_f16_w32
#endif
#if defined(__GFX12__)
STAND_IN_WMMA(wmma_f32_16x16x16_bf16_w32_gfx12, Wmma12, short)
STAND_IN_WMMA(wmma_f32_16x16x16_f16_w32_gfx12, Wmma12, _Float16)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12 stand_in_wmma_f32_16x16x16_bf16_w32_gfx12
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12 stand_in_wmma_f32_16x16x16_f16_w32_gfx12
#endif
