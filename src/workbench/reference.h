// Mathematics in f64 for the references of exercises. AMD's libraries may not be installed, and the compiler has
// instructions for roots only.
#pragma once

TUTOR_DEVICE double sqrt(double x) { return __builtin_elementwise_sqrt(x); }
TUTOR_DEVICE double fabs(double x) { return __builtin_elementwise_abs(x); }
TUTOR_DEVICE double fmax(double x, double y) { return __builtin_elementwise_max(x, y); }
TUTOR_DEVICE double rint(double x) { return __builtin_elementwise_rint(x); }

// x = k ln 2 + r with |r| <= ln 2 / 2, and the Taylor series of exp(r): its next term is below 5e-18. The upper part of
// ln 2 has 32 bits, so that k times it is exact (Cody and Waite, Software Manual for the Elementary Functions, 1980).
TUTOR_DEVICE double exp(double x) {
    const double inverse = 1.4426950408889634, upper = 6.93147180369123816490e-01, lower = 1.90821492927058770002e-10;
    if (x > 710) return __builtin_inf();
    if (x < -745) return 0;
    double k = rint(x * inverse), r = (x - k * upper) - k * lower, sum = 1;
    for (int n = 14; n > 0; n--) sum = 1 + sum * r * (1.0 / n);
    return __builtin_amdgcn_ldexp(sum, (int)k);
}

// x = m 2^k with sqrt(1/2) <= m < sqrt(2), and the series of log(m) = 2 atanh(s), s = (m - 1) / (m + 1): its next term is
// below 1e-19.
TUTOR_DEVICE double log(double x) {
    double m = __builtin_amdgcn_frexp_mant(x), sum = 0;
    int k = __builtin_amdgcn_frexp_exp(x);
    if (m < 0.70710678118654752) m *= 2, k--;
    double s = (m - 1) / (m + 1);
    for (int n = 23; n > 0; n -= 2) sum = sum * s * s + 1.0 / n;
    return k * 0.69314718055994531 + 2 * s * sum;
}
