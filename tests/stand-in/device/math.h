// Mathematics of device code, from the compiler's builtins. No header of the host's library is read, because its names
// would clash with the kernels' own typedefs.
#pragma once

#if !defined(INFINITY)
#define INFINITY __builtin_inff()
#endif
#if !defined(NAN)
#define NAN __builtin_nanf("")
#endif

typedef _Float16 __half;
typedef __bf16 __hip_bfloat16;

#define STAND_IN_MATH1(name)                                                                                \
    STAND_IN_INLINE float name(float x) { return __builtin_##name##f(x); }                                  \
    STAND_IN_INLINE float name##f(float x) { return __builtin_##name##f(x); }                               \
    STAND_IN_INLINE double name(double x) { return __builtin_##name(x); }
STAND_IN_MATH1(sqrt)
STAND_IN_MATH1(exp)
STAND_IN_MATH1(exp2)
STAND_IN_MATH1(expm1)
STAND_IN_MATH1(log)
STAND_IN_MATH1(log2)
STAND_IN_MATH1(log10)
STAND_IN_MATH1(log1p)
STAND_IN_MATH1(sin)
STAND_IN_MATH1(cos)
STAND_IN_MATH1(tan)
STAND_IN_MATH1(asin)
STAND_IN_MATH1(acos)
STAND_IN_MATH1(atan)
STAND_IN_MATH1(sinh)
STAND_IN_MATH1(cosh)
STAND_IN_MATH1(tanh)
STAND_IN_MATH1(asinh)
STAND_IN_MATH1(acosh)
STAND_IN_MATH1(atanh)
STAND_IN_MATH1(erf)
STAND_IN_MATH1(floor)
STAND_IN_MATH1(ceil)
STAND_IN_MATH1(trunc)
STAND_IN_MATH1(rint)
STAND_IN_MATH1(round)
STAND_IN_MATH1(fabs)
#define STAND_IN_MATH2(name)                                                                                \
    STAND_IN_INLINE float name(float x, float y) { return __builtin_##name##f(x, y); }                      \
    STAND_IN_INLINE float name##f(float x, float y) { return __builtin_##name##f(x, y); }                   \
    STAND_IN_INLINE double name(double x, double y) { return __builtin_##name(x, y); }
STAND_IN_MATH2(pow)
STAND_IN_MATH2(fmod)
STAND_IN_MATH2(atan2)
STAND_IN_MATH2(hypot)
STAND_IN_MATH2(fmin)
STAND_IN_MATH2(fmax)
STAND_IN_MATH2(copysign)
STAND_IN_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
STAND_IN_INLINE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
STAND_IN_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
STAND_IN_INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
STAND_IN_INLINE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
STAND_IN_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
STAND_IN_INLINE float rhypot(float x, float y) { return 1.0f / __builtin_hypotf(x, y); }
STAND_IN_INLINE float rhypotf(float x, float y) { return 1.0f / __builtin_hypotf(x, y); }
STAND_IN_INLINE double rhypot(double x, double y) { return 1.0 / __builtin_hypot(x, y); }
STAND_IN_INLINE int abs(int x) { return x < 0 ? -x : x; }
STAND_IN_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
STAND_IN_INLINE float abs(float x) { return __builtin_fabsf(x); }
STAND_IN_INLINE double abs(double x) { return __builtin_fabs(x); }
STAND_IN_INLINE bool isnan(float x) { return __builtin_isnan(x); }
STAND_IN_INLINE bool isnan(double x) { return __builtin_isnan(x); }
STAND_IN_INLINE bool isinf(float x) { return __builtin_isinf(x); }
STAND_IN_INLINE bool isinf(double x) { return __builtin_isinf(x); }
STAND_IN_INLINE bool isfinite(float x) { return __builtin_isfinite(x); }

// min and max of equal or mixed types, with HIP's overloads; for floats they prefer the number to a NaN.
#define STAND_IN_ORDER(type)                                                                                \
    STAND_IN_INLINE type min(type x, type y) { return y < x ? y : x; }                                      \
    STAND_IN_INLINE type max(type x, type y) { return x < y ? y : x; }
STAND_IN_ORDER(int)
STAND_IN_ORDER(unsigned)
STAND_IN_ORDER(long)
STAND_IN_ORDER(unsigned long)
STAND_IN_ORDER(long long)
STAND_IN_ORDER(unsigned long long)
STAND_IN_INLINE float min(float x, float y) { return __builtin_fminf(x, y); }
STAND_IN_INLINE float max(float x, float y) { return __builtin_fmaxf(x, y); }
STAND_IN_INLINE double min(double x, double y) { return __builtin_fmin(x, y); }
STAND_IN_INLINE double max(double x, double y) { return __builtin_fmax(x, y); }

// The fast forms are as exact as the others here.
STAND_IN_INLINE float __expf(float x) { return __builtin_expf(x); }
STAND_IN_INLINE float __exp2f(float x) { return __builtin_exp2f(x); }
STAND_IN_INLINE float __logf(float x) { return __builtin_logf(x); }
STAND_IN_INLINE float __log2f(float x) { return __builtin_log2f(x); }
STAND_IN_INLINE float __log10f(float x) { return __builtin_log10f(x); }
STAND_IN_INLINE float __sinf(float x) { return __builtin_sinf(x); }
STAND_IN_INLINE float __cosf(float x) { return __builtin_cosf(x); }
STAND_IN_INLINE float __powf(float x, float y) { return __builtin_powf(x, y); }
STAND_IN_INLINE float __fdividef(float x, float y) { return x / y; }
STAND_IN_INLINE float __frcp_rn(float x) { return 1.0f / x; }
STAND_IN_INLINE float __frsqrt_rn(float x) { return 1.0f / __builtin_sqrtf(x); }
STAND_IN_INLINE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }

// Operations on bits.
STAND_IN_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
STAND_IN_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
STAND_IN_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
STAND_IN_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
STAND_IN_INLINE int __ffs(int x) { return __builtin_ffs(x); }
STAND_IN_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
STAND_IN_INLINE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
STAND_IN_INLINE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
STAND_IN_INLINE unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)(((unsigned long long)x * y) >> 32); }
STAND_IN_INLINE int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
STAND_IN_INLINE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
STAND_IN_INLINE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
STAND_IN_INLINE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
STAND_IN_INLINE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }

// 16-bit floats: computed in f32, or in f64 if a product must not be rounded, then rounded once.
#define STAND_IN_HALF1(name, value)                                                                         \
    STAND_IN_INLINE __half name(__half a) { float x = a; return (__half)(value); }                          \
    STAND_IN_INLINE __hip_bfloat16 name(__hip_bfloat16 a) { float x = (float)a; return (__hip_bfloat16)(float)(value); }
STAND_IN_HALF1(hsqrt, __builtin_sqrtf(x))
STAND_IN_HALF1(hrsqrt, 1.0f / __builtin_sqrtf(x))
STAND_IN_HALF1(hsin, __builtin_sinf(x))
STAND_IN_HALF1(hcos, __builtin_cosf(x))
STAND_IN_HALF1(hexp, __builtin_expf(x))
STAND_IN_HALF1(hlog, __builtin_logf(x))
STAND_IN_HALF1(htrunc, __builtin_truncf(x))
STAND_IN_HALF1(hceil, __builtin_ceilf(x))
STAND_IN_HALF1(hfloor, __builtin_floorf(x))
STAND_IN_HALF1(hrint, __builtin_rintf(x))
STAND_IN_HALF1(hrcp, 1.0f / x)
STAND_IN_HALF1(htanh, __builtin_tanhf(x))
STAND_IN_HALF1(__habs, __builtin_fabsf(x))
template <class T> STAND_IN_INLINE T __hmin(T x, T y) { return (float)y < (float)x ? y : x; }
template <class T> STAND_IN_INLINE T __hmax(T x, T y) { return (float)x < (float)y ? y : x; }
template <class T> STAND_IN_INLINE T __hmin_nan(T x, T y) { return (float)x != (float)x || (float)x < (float)y ? x : y; }
template <class T> STAND_IN_INLINE T __hmax_nan(T x, T y) { return (float)x != (float)x || (float)x > (float)y ? x : y; }
template <class T> STAND_IN_INLINE bool __hisnan(T x) { return __builtin_isnan((float)x); }
template <class T> STAND_IN_INLINE int __hisinf(T x) { return __builtin_isinf((float)x); }
template <class T> STAND_IN_INLINE T __hfma(T x, T y, T z) { return (T)(float)((double)(float)x * (float)y + (float)z); }

// Rounds f32 to bf16, which the host's run-time library may lack.
extern "C" STAND_IN_UNCHECKED __attribute__((weak, visibility("hidden"))) __bf16 __truncsfbf2(float x) {
    unsigned bits = __builtin_bit_cast(unsigned, x);
    bits = x != x ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u);
    return __builtin_bit_cast(__bf16, (unsigned short)(bits >> 16));
}
extern "C" STAND_IN_UNCHECKED __attribute__((weak, visibility("hidden"))) __bf16 __truncdfbf2(double x) {
    return __truncsfbf2((float)x);
}
