// The functions of the host's library that a module may call; a kernel cannot reach others. None takes a pointer,
// because their writes would not be checked. The compiler's side reads the names from here as well.
#pragma once

namespace stand_in {
constexpr const char *MATHEMATICS[] = {
    "acos", "acosf", "acosh", "acoshf", "asin", "asinf", "asinh", "asinhf", "atan", "atanf", "atan2", "atan2f", "atanh", "atanhf",
    "cbrt", "cbrtf", "ceil", "ceilf", "copysign", "copysignf", "cos", "cosf", "cosh", "coshf", "erf", "erff", "erfc", "erfcf",
    "exp", "expf", "exp2", "exp2f", "expm1", "expm1f", "fabs", "fabsf", "fdim", "fdimf", "floor", "floorf", "fma", "fmaf",
    "fmax", "fmaxf", "fmin", "fminf", "fmod", "fmodf", "hypot", "hypotf", "ldexp", "ldexpf", "log", "logf", "log10", "log10f",
    "log1p", "log1pf", "log2", "log2f", "logb", "logbf", "lrint", "lrintf", "lround", "lroundf", "nearbyint", "nearbyintf",
    "nextafter", "nextafterf", "pow", "powf", "remainder", "remainderf", "rint", "rintf", "round", "roundf", "roundeven",
    "roundevenf", "scalbn", "scalbnf", "sin", "sinf", "sinh", "sinhf", "sqrt", "sqrtf", "tan", "tanf", "tanh", "tanhf",
    "tgamma", "tgammaf", "trunc", "truncf",
};
}  // namespace stand_in
