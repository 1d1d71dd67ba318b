//! Arithmetic as the instructions define it, where Rust's arithmetic differs or is slow.

use std::ops::Div;

/// Computes a fused multiply-add in f32. Without an instruction for it, the product is exact in f64. The flag is true
/// if the second rounding may change the result, because the sum lies exactly between two f32 numbers or below the
/// normal ones.
#[inline(always)]
pub fn fma_fast(a: f32, b: f32, c: f32) -> (f32, bool) {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        return (a.mul_add(b, c), false);
    }
    let sum = f64::from(a) * f64::from(b) + f64::from(c);
    let result = sum as f32;
    let is_tie = sum.to_bits() & 0x1fff_ffff == 0x1000_0000;
    let is_small = result.abs() < f32::MIN_POSITIVE && sum != 0.0;
    (result, is_tie | is_small)
}

/// Turns subnormal numbers into zeros, as the approximating instructions do.
pub fn flush(x: f32) -> f32 {
    if x.is_subnormal() {
        0.0_f32.copysign(x)
    } else {
        x
    }
}

/// Computes an approximating instruction in f64 and rounds once. Hardware may differ by one unit in the last place.
pub fn approximate(x: f32, f: impl Fn(f64) -> f64) -> f32 {
    flush(f(f64::from(flush(x))) as f32)
}

/// Returns x · 2^n, rounded once.
pub fn ldexp(mut x: f64, mut n: i32) -> f64 {
    let power = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    for _ in 0..2 {
        if n > 1023 {
            x *= power(1023);
            n -= 1023;
        } else if n < -1022 {
            // This keeps 53 bits above the smallest number, so that only the last product rounds.
            x *= power(-1022 + 53);
            n += 1022 - 53;
        }
    }
    x * power(n.clamp(-1022, 1023))
}

/// Splits a number into a fraction from 0.5 up to 1 and a power of two. Zero, infinity and NaN are their own fractions.
pub fn frexp(x: f64) -> (f64, i32) {
    let (scaled, by) = if x.is_subnormal() {
        (ldexp(x, 64), 64)
    } else {
        (x, 0)
    };
    if !scaled.is_normal() {
        return (x, 0);
    }
    let bits = scaled.to_bits();
    let exponent = (bits >> 52 & 2047) as i32 - 1022 - by;
    (
        f64::from_bits(bits & 0x800f_ffff_ffff_ffff | 1022 << 52),
        exponent,
    )
}

/// Computes x · 2^n in f32. A result below the normal numbers is rounded only once.
pub fn ldexp32(x: f32, n: i32) -> f32 {
    ldexp(f64::from(x), n) as f32
}

pub fn to_half(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    // Below 2^-14 the unit is 2^-24; above, 13 bits fall away.
    let half = if magnitude < 0x3880_0000 {
        (f64::from(f32::from_bits(magnitude)) * f64::from(1 << 24)).round_ties_even() as u32
    } else {
        let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
        (rounded >> 13) - (112 << 10)
    };
    sign | half as u16
}

pub fn from_half(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(half >> 10 & 31), u32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => (fraction as f32 / (1 << 24) as f32).to_bits(),
        31 => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

pub fn from_bf16(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// Rounds an f32 to the ten bits of fraction that `xf32` products use.
pub fn to_xf32(x: f32) -> f32 {
    let bits = x.to_bits();
    match x.is_finite() {
        true => f32::from_bits((bits + 0xfff + (bits >> 13 & 1)) & !0x1fff),
        false => x,
    }
}

/// Properties of a number format that the `v_div_*` instructions need.
pub trait Division: Copy + PartialEq + Div<Output = Self> + From<f32> + Into<f64> {
    const SCALE: i32;
    const FAR: i32;
    const TINY: i32;
    const UNDERFLOW: i32;
    const LAST: i32;
    fn scale(self, n: i32) -> Self;
    /// Returns the biased exponent.
    fn exponent(self) -> i32;
    fn is_denormal(self) -> bool;
    fn signed(self, negative: bool) -> Self;
    fn multiply_add(self, b: Self, c: Self) -> Self;
}

macro_rules! division {
    ($float:ty, $scale:expr, $far:expr, $tiny:expr, $underflow:expr, $shift:expr, $last:expr, $ldexp:expr) => {
        impl Division for $float {
            const SCALE: i32 = $scale;
            const FAR: i32 = $far;
            const TINY: i32 = $tiny;
            const UNDERFLOW: i32 = $underflow;
            const LAST: i32 = $last;
            fn scale(self, n: i32) -> Self {
                $ldexp(self, n)
            }
            fn exponent(self) -> i32 {
                (self.to_bits() >> $shift) as i32 & $last
            }
            fn is_denormal(self) -> bool {
                self.is_subnormal()
            }
            fn signed(self, negative: bool) -> Self {
                let magnitude = self.abs();
                if negative { -magnitude } else { magnitude }
            }
            fn multiply_add(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
        }
    };
}
division!(f32, 64, 96, 23, -150, 23, 255, ldexp32);
division!(f64, 128, 768, 53, -1075, 52, 2047, ldexp);

/// Computes `v_div_scale`. It scales the chosen operand so that refining the quotient meets no subnormal number, and
/// returns whether `v_div_fmas` has to scale back.
pub fn div_scale<F: Division>(chosen: F, denominator: F, numerator: F) -> (F, bool) {
    let [zero, one] = [0.0, 1.0].map(F::from);
    let far = numerator.exponent() - denominator.exponent() >= F::FAR;
    let inverse_small = (one / denominator).is_denormal();
    let quotient_small = (numerator / denominator).is_denormal();
    let only = |is: bool| if is { chosen.scale(F::SCALE) } else { chosen };
    if numerator == zero || denominator == zero {
        (F::from(f32::NAN), false)
    } else if far {
        (only(chosen == denominator), true)
    } else if denominator.is_denormal() {
        (chosen.scale(F::SCALE), false)
    } else if inverse_small && quotient_small {
        let is_denominator = chosen == denominator;
        let scaled = if is_denominator {
            chosen.scale(-F::SCALE)
        } else {
            chosen
        };
        (scaled, true)
    } else if inverse_small {
        (chosen.scale(-F::SCALE), false)
    } else if quotient_small {
        (only(chosen == numerator), true)
    } else if numerator.exponent() <= F::TINY {
        (chosen.scale(F::SCALE), false)
    } else {
        (chosen, false)
    }
}

/// Computes `v_div_fmas`, the last step of a quotient. The exponent of the estimate says in which direction it scales
/// back.
pub fn div_fmas<F: Division>(x: F, y: F, estimate: F, scales_back: bool) -> F {
    let sum = x.multiply_add(y, estimate);
    match (scales_back, estimate.exponent() > F::LAST / 2) {
        (false, _) => sum,
        (true, true) => sum.scale(F::SCALE),
        (true, false) => sum.scale(-F::SCALE),
    }
}

/// Computes `v_div_fixup`, which gives the quotient in the special cases of division.
pub fn div_fixup<F: Division>(quotient: F, denominator: F, numerator: F) -> F {
    let [q, d, n]: [f64; 3] = [quotient, denominator, numerator].map(F::into);
    let negative = d.is_sign_negative() != n.is_sign_negative();
    if n.is_nan() {
        numerator
    } else if d.is_nan() {
        denominator
    } else if (d == 0.0 && n == 0.0) || (d.is_infinite() && n.is_infinite()) {
        F::from(f32::NAN).signed(true)
    } else if d == 0.0 || n.is_infinite() {
        F::from(f32::INFINITY).signed(negative)
    } else if d.is_infinite()
        || n == 0.0
        || numerator.exponent() - denominator.exponent() < F::UNDERFLOW
    {
        F::from(0.0).signed(negative)
    } else if q.is_nan() {
        // The steps met infinities, so the quotient exceeds the largest number.
        F::from(f32::INFINITY).signed(negative)
    } else {
        quotient.signed(negative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bit patterns of every kind of number, and pairs near ties.
    fn samples() -> Vec<f32> {
        let random = (0..4000_u32).map(|i| i.wrapping_mul(2_654_435_761) ^ i << 7);
        let small = (0..200).map(|i| i * 0x1357 + 1);
        random
            .chain(small)
            .map(f32::from_bits)
            .filter(|x| !x.is_nan())
            .collect()
    }

    #[test]
    fn fused_sums_are_rounded_once_or_say_that_they_are_not_sure() {
        let all = samples();
        for (at, a) in all.iter().enumerate() {
            let (b, c) = (all[at * 7 % all.len()], all[at * 13 % all.len()]);
            let (value, is_unsure) = fma_fast(*a, b, c);
            let right = a.mul_add(b, c);
            let same = value.to_bits() == right.to_bits() || (value.is_nan() && right.is_nan());
            assert!(same || is_unsure, "{a} {b} {c}: {value} instead of {right}");
        }
    }

    #[test]
    fn divisions_in_steps_are_rounded_once() {
        let all = samples();
        for (at, n) in all.iter().enumerate() {
            let d = all[at * 11 % all.len()];
            let (scaled_d, _) = div_scale(d, d, *n);
            let (scaled_n, scales_back) = div_scale(*n, d, *n);
            let inverse = approximate(scaled_d, |x| 1.0 / x);
            let error = (-scaled_d).mul_add(inverse, 1.0);
            let inverse = error.mul_add(inverse, inverse);
            let quotient = scaled_n * inverse;
            let rest = (-scaled_d).mul_add(quotient, scaled_n);
            let quotient = rest.mul_add(inverse, quotient);
            let rest = (-scaled_d).mul_add(quotient, scaled_n);
            let sum = div_fmas(rest, inverse, quotient, scales_back);
            let got = div_fixup(sum, d, *n);
            let right = n / d;
            let same = got == right || (got.is_nan() && right.is_nan());
            // Subnormal quotients may be rounded twice.
            assert!(
                same || right.is_subnormal() || got.is_subnormal(),
                "{n} / {d}: {got} instead of {right}"
            );
        }
    }

    #[test]
    fn halves_and_powers_of_two() {
        for half in 0..=u16::MAX {
            let float = from_half(half);
            assert!(float.is_nan() || to_half(float) == half, "{half:#x}");
        }
        assert_eq!(to_half(65520.0), 0x7c00);
        assert_eq!(to_half(65519.9), 0x7bff);
        assert_eq!(ldexp(1.0, -1074), f64::from_bits(1));
        assert_eq!(ldexp(3.0, -1076), f64::from_bits(1));
        assert_eq!(ldexp(f64::from_bits(1), 2000), 2_f64.powi(926));
        assert_eq!(to_xf32(1.0 + 2_f32.powi(-11)), 1.0);
    }
}
