//! Vector arithmetic on 32 and 16 bits. Each lane is independent.

use super::{Entry, table};
use crate::core::{Core, Outcome};
use crate::float::{self, approximate};
use crate::instruction::{Instruction, Run};
use crate::wave::{Half, Lane};

/// Builds an entry from a closure that returns the result of one lane.
macro_rules! op {
    (|$($a:ident: $A:ty),+| $result:expr) => {{
        const SOURCES: usize = [$(stringify!($a)),+].len();
        let run: Run = |c, i| {
            let mut at = 0;
            $(
                at += 1;
                let $a = <$A>::read::<N>(c.wave, &i.operands[at]);
            )+
            Lane::write::<N>(c.wave, &i.operands[0], |lane| {
                $(let $a = $a[lane];)+
                $result
            });
            Ok(())
        };
        Entry::new(run, 1, 1 + SOURCES)
    }};
}
pub(super) use op;

fn low24(x: u32) -> u32 {
    x & 0xff_ffff
}

fn signed24(x: u32) -> i32 {
    (x << 8).cast_signed() >> 8
}

fn signed_field(a: u32, offset: u32, width: u32) -> i32 {
    let unused = 32 - width.min(32 - offset);
    let part = if width == 0 { 0 } else { a >> offset << unused };
    part.cast_signed().wrapping_shr(unused)
}

/// Rounds to 16 bits towards zero.
fn zeroward(x: f32) -> u32 {
    let nearest = float::to_half(x);
    let is_beyond = float::from_half(nearest).abs() > x.abs();
    u32::from(nearest) - u32::from(is_beyond)
}

/// Finds vector instructions. Conversions to integers round towards zero and stop at the largest and smallest integer;
/// NaN becomes 0. Rust's `as` does the same.
pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    if matches!(
        name,
        "v_fma_f32" | "v_fmac_f32" | "v_fmamk_f32" | "v_fmaak_f32"
    ) {
        return Some(Entry::new(fma::<N>, 1, 4));
    }
    let name = name.strip_prefix("v_")?;
    let found = integers::<N>(name).or_else(|| halves::<N>(name));
    let found = found
        .or_else(|| floats::<N>(name))
        .or_else(|| conversions::<N>(name));
    found.or_else(|| match name.rsplit_once('_')? {
        (stem, "u32") => ordered_u32::<N>(stem),
        (stem, "i32") => ordered_i32::<N>(stem),
        (stem, "u16") => ordered_u16::<N>(stem),
        (stem, "i16") => ordered_i16::<N>(stem),
        (stem, "f32") => rounded_f32::<N>(stem),
        (stem, "f64") => rounded_f64::<N>(stem),
        _ => None,
    })
}

fn integers<const N: usize>(name: &str) -> Option<Entry> {
    table! { op, name;
        "mov_b32" | "accvgpr_read_b32" | "accvgpr_write_b32" | "accvgpr_mov_b32" => |a: u32| a;
        "not_b32" => |a: u32| !a;
        "bfrev_b32" => |a: u32| a.reverse_bits();
        "ffbh_u32" | "clz_i32_u32" => |a: u32| if a == 0 { u32::MAX } else { a.leading_zeros() };
        "ffbl_b32" | "ctz_i32_b32" => |a: u32| if a == 0 { u32::MAX } else { a.trailing_zeros() };
        "ffbh_i32" | "cls_i32" => |a: i32| match a { 0 | -1 => u32::MAX, _ => (a ^ (a >> 31)).leading_zeros() };
        "add_u32" | "add_i32" => |a: u32, b: u32| a.wrapping_add(b);
        "sub_u32" | "sub_i32" => |a: u32, b: u32| a.wrapping_sub(b);
        "subrev_u32" => |a: u32, b: u32| b.wrapping_sub(a);
        "mul_lo_u32" => |a: u32, b: u32| a.wrapping_mul(b);
        "mul_hi_u32" => |a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32;
        "mul_hi_i32" => |a: i32, b: i32| ((i64::from(a) * i64::from(b)) >> 32) as i32;
        "mul_u32_u24" => |a: u32, b: u32| low24(a).wrapping_mul(low24(b));
        "mul_i32_i24" => |a: u32, b: u32| signed24(a).wrapping_mul(signed24(b));
        "mul_hi_i32_i24" => |a: u32, b: u32| ((i64::from(signed24(a)) * i64::from(signed24(b))) >> 32) as i32;
        "mul_hi_u32_u24" => |a: u32, b: u32| ((u64::from(low24(a)) * u64::from(low24(b))) >> 32) as u32;
        "and_b32" => |a: u32, b: u32| a & b;
        "or_b32" => |a: u32, b: u32| a | b;
        "xor_b32" => |a: u32, b: u32| a ^ b;
        "xnor_b32" => |a: u32, b: u32| !(a ^ b);
        "lshlrev_b32" => |a: u32, b: u32| b.wrapping_shl(a);
        "lshrrev_b32" => |a: u32, b: u32| b.wrapping_shr(a);
        "ashrrev_i32" => |a: u32, b: i32| b.wrapping_shr(a);
        "bcnt_u32_b32" => |a: u32, b: u32| a.count_ones().wrapping_add(b);
        "bfm_b32" => |a: u32, b: u32| ((1 << (a & 31)) - 1_u32) << (b & 31);
        "add3_u32" => |a: u32, b: u32, c: u32| a.wrapping_add(b).wrapping_add(c);
        "lshl_add_u32" => |a: u32, b: u32, c: u32| a.wrapping_shl(b).wrapping_add(c);
        "add_lshl_u32" => |a: u32, b: u32, c: u32| a.wrapping_add(b).wrapping_shl(c);
        "lshl_or_b32" => |a: u32, b: u32, c: u32| a.wrapping_shl(b) | c;
        "and_or_b32" => |a: u32, b: u32, c: u32| a & b | c;
        "or3_b32" => |a: u32, b: u32, c: u32| a | b | c;
        "xor3_b32" => |a: u32, b: u32, c: u32| a ^ b ^ c;
        // The fourth value is the table of the operation: its bit 4a + 2b + c is the result of the bits a, b and c.
        "bitop3_b32" => |a: u32, b: u32, c: u32, table: u32| bit_operation(a, b, c, table);
        "xad_u32" => |a: u32, b: u32, c: u32| (a ^ b).wrapping_add(c);
        "mad_u32_u24" => |a: u32, b: u32, c: u32| low24(a).wrapping_mul(low24(b)).wrapping_add(c);
        "mad_i32_i24" => |a: u32, b: u32, c: i32| signed24(a).wrapping_mul(signed24(b)).wrapping_add(c);
        "bfe_u32" => |a: u32, b: u32, c: u32| a.wrapping_shr(b) & ((1_u64 << (c & 31)) - 1) as u32;
        "bfe_i32" => |a: u32, b: u32, c: u32| signed_field(a, b & 31, c & 31);
        "bfi_b32" => |a: u32, b: u32, c: u32| a & b | !a & c;
        "alignbit_b32" => |a: u32, b: u32, c: u32| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32;
        "alignbyte_b32" => |a: u32, b: u32, c: u32| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32;
        "perm_b32" => |a: u32, b: u32, c: u32| permute_bytes(a, b, c);
        "sad_u32" => |a: u32, b: u32, c: u32| a.abs_diff(b).wrapping_add(c);
    }
}

fn halves<const N: usize>(name: &str) -> Option<Entry> {
    table! { op, name;
        "lshlrev_b16" => |a: u32, b: u16| b.wrapping_shl(a & 15);
        "lshrrev_b16" => |a: u32, b: u16| b.wrapping_shr(a & 15);
        "ashrrev_i16" => |a: u32, b: i16| b.wrapping_shr(a & 15);
        "add_u16" => |a: u16, b: u16| a.wrapping_add(b);
        "sub_u16" => |a: u16, b: u16| a.wrapping_sub(b);
        "mul_lo_u16" => |a: u16, b: u16| a.wrapping_mul(b);
        "and_b16" => |a: u16, b: u16| a & b;
        "or_b16" => |a: u16, b: u16| a | b;
        "xor_b16" => |a: u16, b: u16| a ^ b;
        "bitop3_b16" => |a: u16, b: u16, c: u16, table: u32| bit_operation(a.into(), b.into(), c.into(), table) as u16;
        "add_f16" => |a: Half, b: Half| Half(a.0 + b.0);
        "sub_f16" => |a: Half, b: Half| Half(a.0 - b.0);
        "mul_f16" => |a: Half, b: Half| Half(a.0 * b.0);
        "max_f16" => |a: Half, b: Half| Half(maximum(a.0, b.0));
        "min_f16" => |a: Half, b: Half| Half(minimum(a.0, b.0));
    }
}

/// Defines the instructions that differ in nothing but the type.
macro_rules! ordered {
    ($find:ident, $T:ty) => {
        fn $find<const N: usize>(stem: &str) -> Option<Entry> {
            table! { op, stem;
                "min" => |a: $T, b: $T| a.min(b);
                "max" => |a: $T, b: $T| a.max(b);
                "min3" => |a: $T, b: $T, c: $T| a.min(b).min(c);
                "max3" => |a: $T, b: $T, c: $T| a.max(b).max(c);
                "med3" => |a: $T, b: $T, c: $T| a.max(b).min(a.min(b).max(c));
                "maxmin" => |a: $T, b: $T, c: $T| a.max(b).min(c);
                "minmax" => |a: $T, b: $T, c: $T| a.min(b).max(c);
            }
        }
    };
}
ordered!(ordered_u32, u32);
ordered!(ordered_i32, i32);
ordered!(ordered_u16, u16);
ordered!(ordered_i16, i16);

macro_rules! rounded {
    ($find:ident, $T:ty) => {
        fn $find<const N: usize>(stem: &str) -> Option<Entry> {
            table! { op, stem;
                "add" => |a: $T, b: $T| a + b;
                "sub" => |a: $T, b: $T| a - b;
                "subrev" => |a: $T, b: $T| b - a;
                "mul" => |a: $T, b: $T| a * b;
                "fract" => |a: $T| match a - a.floor() {
                    1.0 => (1.0 as $T).next_down(),
                    part => part,
                };
                "trunc" => |a: $T| a.trunc();
                "ceil" => |a: $T| a.ceil();
                "floor" => |a: $T| a.floor();
                "rndne" => |a: $T| a.round_ties_even();
                "div_fixup" => |a: $T, b: $T, c: $T| float::div_fixup(a, b, c);
            }
        }
    };
}
rounded!(rounded_f32, f32);
rounded!(rounded_f64, f64);

fn floats<const N: usize>(name: &str) -> Option<Entry> {
    use std::f64::consts::TAU;
    table! { op, name;
        // In these instructions zero times anything is zero.
        "mul_legacy_f32" | "mul_dx9_zero_f32" => |a: f32, b: f32| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        "min_f32" => |a: f32, b: f32| minimum(a, b);
        "max_f32" => |a: f32, b: f32| maximum(a, b);
        "min3_f32" => |a: f32, b: f32, c: f32| minimum(minimum(a, b), c);
        "max3_f32" => |a: f32, b: f32, c: f32| maximum(maximum(a, b), c);
        "minmax_f32" => |a: f32, b: f32, c: f32| maximum(minimum(a, b), c);
        "maxmin_f32" => |a: f32, b: f32, c: f32| minimum(maximum(a, b), c);
        "med3_f32" => |a: f32, b: f32, c: f32| match a.is_nan() || b.is_nan() {
            true => minimum(minimum(a, b), c),
            false => minimum(maximum(a, b), maximum(minimum(a, b), c)),
        };
        "mac_f32" | "mad_f32" | "madmk_f32" | "madak_f32" => |a: f32, b: f32, c: f32| a * b + c;
        "rcp_f32" | "rcp_iflag_f32" => |a: f32| approximate(a, |x| 1.0 / x);
        "rsq_f32" => |a: f32| approximate(a, |x| 1.0 / x.sqrt());
        "sqrt_f32" => |a: f32| approximate(a, f64::sqrt);
        "exp_f32" => |a: f32| approximate(a, f64::exp2);
        "log_f32" => |a: f32| approximate(a, f64::log2);
        "sin_f32" => |a: f32| approximate(a, |x| (x * TAU).sin());
        "cos_f32" => |a: f32| approximate(a, |x| (x * TAU).cos());
        "ldexp_f32" => |a: f32, b: i32| float::ldexp32(a, b);
        "frexp_mant_f32" => |a: f32| float::frexp(a.into()).0 as f32;
        "frexp_exp_i32_f32" => |a: f32| float::frexp(a.into()).1;
    }
}

fn conversions<const N: usize>(name: &str) -> Option<Entry> {
    table! { op, name;
        "cvt_f32_i32" => |a: i32| a as f32;
        "cvt_f32_u32" => |a: u32| a as f32;
        "cvt_i32_f32" => |a: f32| a as i32;
        "cvt_u32_f32" => |a: f32| a as u32;
        "cvt_rpi_i32_f32" | "cvt_nearest_i32_f32" => |a: f32| (a + 0.5).floor() as i32;
        "cvt_flr_i32_f32" | "cvt_floor_i32_f32" => |a: f32| a.floor() as i32;
        "cvt_f32_ubyte0" => |a: u32| (a & 255) as f32;
        "cvt_f32_ubyte1" => |a: u32| (a >> 8 & 255) as f32;
        "cvt_f32_ubyte2" => |a: u32| (a >> 16 & 255) as f32;
        "cvt_f32_ubyte3" => |a: u32| (a >> 24) as f32;
        "cvt_f16_f32" => |a: f32| Half(a);
        "cvt_f32_f16" => |a: Half| a.0;
        "cvt_pkrtz_f16_f32" | "cvt_pk_rtz_f16_f32" => |a: f32, b: f32| zeroward(a) | zeroward(b) << 16;
        "cvt_f32_f64" => |a: f64| a as f32;
        "cvt_f64_f32" => |a: f32| f64::from(a);
        "cvt_f64_i32" => |a: i32| f64::from(a);
        "cvt_f64_u32" => |a: u32| f64::from(a);
        "cvt_i32_f64" => |a: f64| a as i32;
        "cvt_u32_f64" => |a: f64| a as u32;
    }
}

pub(super) fn minimum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b < a || (b == a && b.is_sign_negative()) {
        b
    } else {
        a
    }
}

pub(super) fn maximum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b > a || (b == a && b.is_sign_positive()) {
        b
    } else {
        a
    }
}

fn fma<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    // Copies only a source that is not a plain row of registers.
    macro_rules! row {
        ($at:expr, $copy:ident) => {
            match c.wave.plain_row::<N>(&i.operands[$at]) {
                Some(row) => row,
                None => {
                    $copy = u32::read::<N>(c.wave, &i.operands[$at]);
                    &$copy
                }
            }
        };
    }
    let (x, y, z);
    let mut sums = [0; N];
    fma_lanes(row!(1, x), row!(2, y), row!(3, z), &mut sums);
    c.wave.write_row(&i.operands[0], 0, &sums);
    Ok(())
}

/// Computes the bits of a fused multiply-add in every lane, with the processor's instruction if it has one.
#[inline]
pub(super) fn fma_lanes<const N: usize>(
    x: &[u32; N],
    y: &[u32; N],
    z: &[u32; N],
    result: &mut [u32; N],
) {
    let float = f32::from_bits;
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: this processor has both features.
        return unsafe { fused(x, y, z, result) };
    }
    let mut again = false;
    for lane in 0..N {
        let (value, is_unsure) = float::fma_fast(float(x[lane]), float(y[lane]), float(z[lane]));
        result[lane] = value.to_bits();
        again |= is_unsure;
    }
    if again {
        for lane in 0..N {
            result[lane] = float(x[lane])
                .mul_add(float(y[lane]), float(z[lane]))
                .to_bits();
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fused<const N: usize>(x: &[u32; N], y: &[u32; N], z: &[u32; N], result: &mut [u32; N]) {
    let float = f32::from_bits;
    for lane in 0..N {
        result[lane] = float(x[lane])
            .mul_add(float(y[lane]), float(z[lane]))
            .to_bits();
    }
}

/// Combines the bits of three words as `table` says.
fn bit_operation(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let of = |word: u32, is_set: bool| if is_set { word } else { !word };
    (0..8)
        .filter(|row| table >> row & 1 == 1)
        .map(|row| of(a, row & 4 != 0) & of(b, row & 2 != 0) & of(c, row & 1 != 0))
        .fold(0, |all, one| all | one)
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
