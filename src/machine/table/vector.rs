//! Vector arithmetic on 32 bits. Each lane is independent.

use super::Entry;
use crate::core::{Core, Done, map1, map2, map3};
use crate::float::{self, approximate};
use crate::instruction::{Instruction, Run};
use crate::wave::Lane;

/// Builds an entry from a closure. The closure's argument types say how sources are read, and it returns the result.
macro_rules! op {
    (|$a:ident: $A:ty| $result:expr) => {
        Entry::new(
            (|c, i| map1::<N, $A, _>(c, i, |$a: $A| $result)) as Run,
            1,
            2,
        )
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty| $result:expr) => {
        Entry::new(
            (|c, i| map2::<N, $A, $B, _>(c, i, |$a: $A, $b: $B| $result)) as Run,
            1,
            3,
        )
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $result:expr) => {
        Entry::new(
            (|c, i| map3::<N, $A, $B, $C, _>(c, i, |$a: $A, $b: $B, $c: $C| $result)) as Run,
            1,
            4,
        )
    };
}
pub(super) use op;

fn low24(x: u32) -> u32 {
    x & 0xff_ffff
}

fn signed24(x: u32) -> i32 {
    (x << 8).cast_signed() >> 8
}

/// Finds vector instructions. Conversions to integers round towards zero and stop at the largest and smallest integer;
/// NaN becomes 0. Rust's `as` does the same.
pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    let float = float_ops::<N>(name);
    Some(match name {
        _ if float.is_some() => return float,
        "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32" => {
            op!(|a: u32| a)
        }
        "v_not_b32" => op!(|a: u32| !a),
        "v_bfrev_b32" => op!(|a: u32| a.reverse_bits()),
        "v_ffbh_u32" | "v_clz_i32_u32" => {
            op!(|a: u32| if a == 0 { u32::MAX } else { a.leading_zeros() })
        }
        "v_ffbl_b32" | "v_ctz_i32_b32" => {
            op!(|a: u32| if a == 0 { u32::MAX } else { a.trailing_zeros() })
        }
        "v_ffbh_i32" | "v_cls_i32" => op!(|a: i32| match a {
            0 | -1 => -1,
            _ => (a ^ (a >> 31)).leading_zeros().cast_signed(),
        }),
        "v_add_u32" | "v_add_nc_u32" | "v_add_i32" | "v_add_nc_i32" => {
            op!(|a: u32, b: u32| a.wrapping_add(b))
        }
        "v_sub_u32" | "v_sub_nc_u32" | "v_sub_i32" | "v_sub_nc_i32" => {
            op!(|a: u32, b: u32| a.wrapping_sub(b))
        }
        "v_subrev_u32" | "v_subrev_nc_u32" => op!(|a: u32, b: u32| b.wrapping_sub(a)),
        "v_mul_lo_u32" => op!(|a: u32, b: u32| a.wrapping_mul(b)),
        "v_mul_hi_u32" => op!(|a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        "v_mul_hi_i32" => op!(|a: i32, b: i32| ((i64::from(a) * i64::from(b)) >> 32) as i32),
        "v_mul_u32_u24" => op!(|a: u32, b: u32| low24(a).wrapping_mul(low24(b))),
        "v_mul_i32_i24" => op!(|a: u32, b: u32| signed24(a).wrapping_mul(signed24(b))),
        "v_mul_hi_u32_u24" => {
            op!(|a: u32, b: u32| ((u64::from(low24(a)) * u64::from(low24(b))) >> 32) as u32)
        }
        "v_and_b32" => op!(|a: u32, b: u32| a & b),
        "v_or_b32" => op!(|a: u32, b: u32| a | b),
        "v_xor_b32" => op!(|a: u32, b: u32| a ^ b),
        "v_xnor_b32" => op!(|a: u32, b: u32| !(a ^ b)),
        "v_lshlrev_b32" => op!(|a: u32, b: u32| b.wrapping_shl(a)),
        "v_lshrrev_b32" => op!(|a: u32, b: u32| b.wrapping_shr(a)),
        "v_ashrrev_i32" => op!(|a: u32, b: i32| b.wrapping_shr(a)),
        "v_min_u32" => op!(|a: u32, b: u32| a.min(b)),
        "v_max_u32" => op!(|a: u32, b: u32| a.max(b)),
        "v_min_i32" => op!(|a: i32, b: i32| a.min(b)),
        "v_max_i32" => op!(|a: i32, b: i32| a.max(b)),
        "v_bcnt_u32_b32" => op!(|a: u32, b: u32| a.count_ones().wrapping_add(b)),
        "v_bfm_b32" => op!(|a: u32, b: u32| ((1 << (a & 31)) - 1_u32) << (b & 31)),
        "v_add3_u32" => op!(|a: u32, b: u32, c: u32| a.wrapping_add(b).wrapping_add(c)),
        "v_lshl_add_u32" => op!(|a: u32, b: u32, c: u32| a.wrapping_shl(b).wrapping_add(c)),
        "v_add_lshl_u32" => op!(|a: u32, b: u32, c: u32| a.wrapping_add(b).wrapping_shl(c)),
        "v_lshl_or_b32" => op!(|a: u32, b: u32, c: u32| a.wrapping_shl(b) | c),
        "v_and_or_b32" => op!(|a: u32, b: u32, c: u32| a & b | c),
        "v_or3_b32" => op!(|a: u32, b: u32, c: u32| a | b | c),
        "v_xor3_b32" => op!(|a: u32, b: u32, c: u32| a ^ b ^ c),
        "v_xad_u32" => op!(|a: u32, b: u32, c: u32| (a ^ b).wrapping_add(c)),
        "v_mad_u32_u24" => {
            op!(|a: u32, b: u32, c: u32| low24(a).wrapping_mul(low24(b)).wrapping_add(c))
        }
        "v_mad_i32_i24" => {
            op!(|a: u32, b: u32, c: i32| signed24(a).wrapping_mul(signed24(b)).wrapping_add(c))
        }
        "v_bfe_u32" => {
            op!(|a: u32, b: u32, c: u32| a.wrapping_shr(b) & ((1_u64 << (c & 31)) - 1) as u32)
        }
        "v_bfe_i32" => op!(|a: u32, b: u32, c: u32| {
            let (offset, width) = (b & 31, c & 31);
            let unused = 32 - width.min(32 - offset);
            let part = if width == 0 { 0 } else { a >> offset << unused };
            part.cast_signed().wrapping_shr(unused)
        }),
        "v_bfi_b32" => op!(|a: u32, b: u32, c: u32| a & b | !a & c),
        "v_alignbit_b32" => {
            op!(|a: u32, b: u32, c: u32| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32)
        }
        "v_alignbyte_b32" => op!(|a: u32, b: u32, c: u32| {
            ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32
        }),
        "v_perm_b32" => op!(|a: u32, b: u32, c: u32| permute_bytes(a, b, c)),
        "v_min3_u32" => op!(|a: u32, b: u32, c: u32| a.min(b).min(c)),
        "v_max3_u32" => op!(|a: u32, b: u32, c: u32| a.max(b).max(c)),
        "v_min3_i32" => op!(|a: i32, b: i32, c: i32| a.min(b).min(c)),
        "v_max3_i32" => op!(|a: i32, b: i32, c: i32| a.max(b).max(c)),
        "v_med3_i32" => op!(|a: i32, b: i32, c: i32| a.max(b).min(a.min(b).max(c))),
        "v_med3_u32" => op!(|a: u32, b: u32, c: u32| a.max(b).min(a.min(b).max(c))),
        "v_maxmin_i32" => op!(|a: i32, b: i32, c: i32| a.max(b).min(c)),
        "v_minmax_i32" => op!(|a: i32, b: i32, c: i32| a.min(b).max(c)),
        "v_maxmin_u32" => op!(|a: u32, b: u32, c: u32| a.max(b).min(c)),
        "v_minmax_u32" => op!(|a: u32, b: u32, c: u32| a.min(b).max(c)),
        "v_sad_u32" => op!(|a: u32, b: u32, c: u32| a.abs_diff(b).wrapping_add(c)),
        "v_lshlrev_b16" => op!(|a: u32, b: u16| b.wrapping_shl(a & 15)),
        "v_lshrrev_b16" => op!(|a: u32, b: u16| b.wrapping_shr(a & 15)),
        "v_ashrrev_i16" => op!(|a: u32, b: i16| b.wrapping_shr(a & 15)),
        "v_add_u16" | "v_add_nc_u16" => op!(|a: u16, b: u16| a.wrapping_add(b)),
        "v_sub_u16" | "v_sub_nc_u16" => op!(|a: u16, b: u16| a.wrapping_sub(b)),
        "v_mul_lo_u16" => op!(|a: u16, b: u16| a.wrapping_mul(b)),
        "v_min_u16" => op!(|a: u16, b: u16| a.min(b)),
        "v_max_u16" => op!(|a: u16, b: u16| a.max(b)),
        "v_min_i16" => op!(|a: i16, b: i16| a.min(b)),
        "v_max_i16" => op!(|a: i16, b: i16| a.max(b)),
        "v_and_b16" => op!(|a: u16, b: u16| a & b),
        "v_or_b16" => op!(|a: u16, b: u16| a | b),
        "v_xor_b16" => op!(|a: u16, b: u16| a ^ b),
        _ => return None,
    })
}

fn float_ops<const N: usize>(name: &str) -> Option<Entry> {
    use std::f64::consts::TAU;
    Some(match name {
        "v_add_f32" => op!(|a: f32, b: f32| a + b),
        "v_sub_f32" => op!(|a: f32, b: f32| a - b),
        "v_subrev_f32" => op!(|a: f32, b: f32| b - a),
        "v_mul_f32" => op!(|a: f32, b: f32| a * b),
        // In these instructions zero times anything is zero.
        "v_mul_legacy_f32" | "v_mul_dx9_zero_f32" => {
            op!(|a: f32, b: f32| if a == 0.0 || b == 0.0 { 0.0 } else { a * b })
        }
        "v_min_f32" => op!(|a: f32, b: f32| minimum(a, b)),
        "v_max_f32" => op!(|a: f32, b: f32| maximum(a, b)),
        "v_min3_f32" => op!(|a: f32, b: f32, c: f32| minimum(minimum(a, b), c)),
        "v_max3_f32" => op!(|a: f32, b: f32, c: f32| maximum(maximum(a, b), c)),
        "v_minmax_f32" => op!(|a: f32, b: f32, c: f32| maximum(minimum(a, b), c)),
        "v_maxmin_f32" => op!(|a: f32, b: f32, c: f32| minimum(maximum(a, b), c)),
        "v_med3_f32" => {
            op!(|a: f32, b: f32, c: f32| minimum(maximum(a, b), maximum(minimum(a, b), c)))
        }
        "v_fma_f32" | "v_fmac_f32" | "v_fmamk_f32" | "v_fmaak_f32" => Entry::new(fma::<N>, 1, 4),
        "v_mac_f32" | "v_mad_f32" | "v_madmk_f32" | "v_madak_f32" => {
            op!(|a: f32, b: f32, c: f32| a * b + c)
        }
        "v_rcp_f32" | "v_rcp_iflag_f32" => op!(|a: f32| approximate(a, |x| 1.0 / x)),
        "v_rsq_f32" => op!(|a: f32| approximate(a, |x| 1.0 / x.sqrt())),
        "v_sqrt_f32" => op!(|a: f32| approximate(a, f64::sqrt)),
        "v_exp_f32" => op!(|a: f32| approximate(a, f64::exp2)),
        "v_log_f32" => op!(|a: f32| approximate(a, f64::log2)),
        "v_sin_f32" => op!(|a: f32| approximate(a, |x| (x * TAU).sin())),
        "v_cos_f32" => op!(|a: f32| approximate(a, |x| (x * TAU).cos())),
        "v_fract_f32" => op!(|a: f32| (a - a.floor()).min(1.0_f32.next_down())),
        "v_trunc_f32" => op!(|a: f32| a.trunc()),
        "v_ceil_f32" => op!(|a: f32| a.ceil()),
        "v_floor_f32" => op!(|a: f32| a.floor()),
        "v_rndne_f32" => op!(|a: f32| a.round_ties_even()),
        "v_ldexp_f32" => op!(|a: f32, b: i32| float::ldexp32(a, b)),
        "v_frexp_mant_f32" => op!(|a: f32| {
            let scaled = a * if a.is_subnormal() { 16_777_216.0 } else { 1.0 };
            match a.is_finite() && a != 0.0 {
                true => f32::from_bits(scaled.to_bits() & 0x807f_ffff | 126 << 23),
                false => a,
            }
        }),
        "v_frexp_exp_i32_f32" => op!(|a: f32| match a {
            _ if a == 0.0 || !a.is_finite() => 0,
            _ if a.is_subnormal() => ((a * 16_777_216.0).to_bits() >> 23 & 255) as i32 - 150,
            _ => (a.to_bits() >> 23 & 255) as i32 - 126,
        }),
        "v_cvt_f32_i32" => op!(|a: i32| a as f32),
        "v_cvt_f32_u32" => op!(|a: u32| a as f32),
        "v_cvt_i32_f32" => op!(|a: f32| a as i32),
        "v_cvt_u32_f32" => op!(|a: f32| a as u32),
        "v_cvt_rpi_i32_f32" | "v_cvt_nearest_i32_f32" => op!(|a: f32| (a + 0.5).floor() as i32),
        "v_cvt_flr_i32_f32" | "v_cvt_floor_i32_f32" => op!(|a: f32| a.floor() as i32),
        "v_cvt_f32_ubyte0" => op!(|a: u32| (a & 255) as f32),
        "v_cvt_f32_ubyte1" => op!(|a: u32| (a >> 8 & 255) as f32),
        "v_cvt_f32_ubyte2" => op!(|a: u32| (a >> 16 & 255) as f32),
        "v_cvt_f32_ubyte3" => op!(|a: u32| (a >> 24) as f32),
        "v_cvt_f16_f32" => op!(|a: f32| float::to_half(a)),
        "v_cvt_f32_f16" => op!(|a: u16| float::from_half(a)),
        "v_cvt_pkrtz_f16_f32" | "v_cvt_pk_rtz_f16_f32" => op!(|a: f32, b: f32| {
            let zeroward = |x: f32| float::to_half(f32::from_bits(x.to_bits() & 0xffff_e000));
            u32::from(zeroward(a)) | u32::from(zeroward(b)) << 16
        }),
        "v_add_f16" => {
            op!(|a: u16, b: u16| float::to_half(float::from_half(a) + float::from_half(b)))
        }
        "v_sub_f16" => {
            op!(|a: u16, b: u16| float::to_half(float::from_half(a) - float::from_half(b)))
        }
        "v_mul_f16" => {
            op!(|a: u16, b: u16| float::to_half(float::from_half(a) * float::from_half(b)))
        }
        "v_max_f16" => {
            op!(|a: u16, b: u16| float::to_half(maximum(float::from_half(a), float::from_half(b))))
        }
        "v_min_f16" => {
            op!(|a: u16, b: u16| float::to_half(minimum(float::from_half(a), float::from_half(b))))
        }
        "v_div_scale_f32" | "v_div_fmas_f32" => return None,
        "v_div_fixup_f32" => op!(|a: f32, b: f32, c: f32| float::div_fixup(a, b, c)),
        _ => return None,
    })
}

fn minimum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b < a || (b == a && b.is_sign_negative()) {
        b
    } else {
        a
    }
}

fn maximum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b > a || (b == a && b.is_sign_positive()) {
        b
    } else {
        a
    }
}

fn fma<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [x, y, z] = [1, 2, 3].map(|at| f32::read::<N>(c.wave, &i.operands[at]));
    f32::write(c.wave, &i.operands[0], &fma_lanes(&x, &y, &z));
    Ok(())
}

/// Computes a fused multiply-add in every lane, with the processor's instruction if it has one.
#[inline]
pub(super) fn fma_lanes<const N: usize>(x: &[f32; N], y: &[f32; N], z: &[f32; N]) -> [f32; N] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: this processor has both features.
        return unsafe { fused(x, y, z) };
    }
    let mut result = [0.0; N];
    let mut again = false;
    for lane in 0..N {
        let (value, is_unsure) = float::fma_fast(x[lane], y[lane], z[lane]);
        result[lane] = value;
        again |= is_unsure;
    }
    if again {
        for lane in 0..N {
            result[lane] = x[lane].mul_add(y[lane], z[lane]);
        }
    }
    result
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fused<const N: usize>(x: &[f32; N], y: &[f32; N], z: &[f32; N]) -> [f32; N] {
    let mut result = [0.0; N];
    for lane in 0..N {
        result[lane] = x[lane].mul_add(y[lane], z[lane]);
    }
    result
}

/// Permutes bytes. Each byte of `select` names a byte of `b` (0 to 3) or of `a` (4 to 7), a sign (8 to 11), zeros (12)
/// or ones.
fn permute_bytes(a: u32, b: u32, select: u32) -> u32 {
    let both = u64::from(a) << 32 | u64::from(b);
    let byte = |choice: u32| match choice & 255 {
        n @ 0..=7 => (both >> (8 * n)) as u32 & 255,
        n @ 8..=11 => 255 * ((both >> (16 * (n - 8) + 15)) as u32 & 1),
        12 => 0,
        _ => 255,
    };
    (0..4).fold(0, |all, at| all | byte(select >> (8 * at)) << (8 * at))
}
