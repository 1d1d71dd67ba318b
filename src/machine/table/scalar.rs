//! Scalar arithmetic: one value per wave.

use super::vector::{maximum, minimum};
use super::{Entry, compare, table};
use crate::core::{Core, Outcome};
use crate::float::approximate;
use crate::instruction::{Instruction, Run};
use crate::wave::Lane;

/// Writes a result, and the condition code if the instruction sets it.
fn finish<R: Lane>(c: &mut Core<'_>, i: &Instruction, (result, scc): (R, Option<bool>)) -> Outcome {
    result.set(c.wave, &i.operands[0]);
    c.wave.scc = scc.unwrap_or(c.wave.scc);
    Ok(())
}

/// Builds an entry. Its closure returns the result and the condition code, if the instruction sets it.
macro_rules! op {
    (|$($a:ident: $A:ty),+| $result:expr) => {
        op!(|c, $($a: $A),+| $result)
    };
    (|$c:ident, $($a:ident: $A:ty),+| $result:expr) => {{
        const SOURCES: usize = [$(stringify!($a)),+].len();
        let run: Run = |$c, i| {
            let mut operands = i.operands[1..].iter();
            $(let $a = operands.next().map_or_else(Default::default, |one| <$A>::get($c.wave, one));)+
            finish($c, i, $result)
        };
        Entry::new(run, 1, 1 + SOURCES)
    }};
}

/// Sets the condition code if the result is not zero.
fn nonzero<T: PartialEq + Default>(value: T) -> (T, Option<bool>) {
    let scc = value != T::default();
    (value, Some(scc))
}

/// Whatever a sum or a difference has above its 32 bits is the carry.
fn carried(sum: u64) -> (u32, Option<bool>) {
    (sum as u32, Some(sum >> 32 != 0))
}

fn signed((result, overflow): (i32, bool)) -> (i32, Option<bool>) {
    (result, Some(overflow))
}

/// Returns the field whose offset and width one operand holds.
fn field(a: u64, b: u32, bits: u32) -> (u64, u32) {
    let offset = b & (bits - 1);
    let width = (b >> 16 & 127).min(bits - offset);
    (a >> offset & ((1_u128 << width) - 1) as u64, width)
}

fn signed_field(a: u64, b: u32, bits: u32) -> i64 {
    let (field, width) = field(a, b, bits);
    let unused = 64 - width.max(1);
    (field << unused).cast_signed() >> unused
}

pub(super) fn find(name: &str) -> Option<Entry> {
    let name = name.strip_prefix("s_")?;
    let found = arithmetic(name).or_else(|| logic(name));
    let found = found
        .or_else(|| with_condition(name))
        .or_else(|| in_place(name));
    found
        .or_else(|| compare::find_scalar(name))
        .or_else(|| bit_test(name))
        .or_else(|| floats(name))
        .or_else(|| match name.split_once("_b") {
            Some((stem, "32")) => of_width32(stem),
            Some((stem, "64")) => of_width64(stem),
            _ => None,
        })
}

fn arithmetic(name: &str) -> Option<Entry> {
    table! { op, name;
        "movk_i32" => |a: u32| (i32::from(a as i16), None);
        "abs_i32" => |a: i32| nonzero(a.wrapping_abs());
        "bcnt1_i32_b32" => |a: u32| nonzero(a.count_ones());
        "bcnt1_i32_b64" => |a: u64| nonzero(a.count_ones());
        "ff1_i32_b32" | "ctz_i32_b32" => |a: u32| (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None);
        "ff1_i32_b64" | "ctz_i32_b64" => |a: u64| (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None);
        "flbit_i32_b32" | "clz_i32_u32" => |a: u32| (if a == 0 { u32::MAX } else { a.leading_zeros() }, None);
        "flbit_i32_b64" | "clz_i32_u64" => |a: u64| (if a == 0 { u32::MAX } else { a.leading_zeros() }, None);
        "sext_i32_i8" => |a: u32| (i32::from(a as i8), None);
        "sext_i32_i16" => |a: u32| (i32::from(a as i16), None);
        "add_u32" => |a: u32, b: u32| carried(u64::from(a) + u64::from(b));
        "sub_u32" => |a: u32, b: u32| carried(u64::from(a).wrapping_sub(b.into()));
        "add_i32" => |a: i32, b: i32| signed(a.overflowing_add(b));
        "sub_i32" => |a: i32, b: i32| signed(a.overflowing_sub(b));
        "mul_i32" => |a: u32, b: u32| (a.wrapping_mul(b), None);
        "mul_hi_u32" => |a: u32, b: u32| (((u64::from(a) * u64::from(b)) >> 32) as u32, None);
        "mul_hi_i32" => |a: i32, b: i32| (((i64::from(a) * i64::from(b)) >> 32) as i32, None);
        "absdiff_i32" => |a: i32, b: i32| nonzero(a.wrapping_sub(b).wrapping_abs());
        "ashr_i32" => |a: i32, b: u32| nonzero(a.wrapping_shr(b));
        "ashr_i64" => |a: i64, b: u32| nonzero(a.wrapping_shr(b));
        "lshl1_add_u32" => |a: u32, b: u32| carried((u64::from(a) << 1) + u64::from(b));
        "lshl2_add_u32" => |a: u32, b: u32| carried((u64::from(a) << 2) + u64::from(b));
        "lshl3_add_u32" => |a: u32, b: u32| carried((u64::from(a) << 3) + u64::from(b));
        "lshl4_add_u32" => |a: u32, b: u32| carried((u64::from(a) << 4) + u64::from(b));
        "min_i32" => |a: i32, b: i32| (a.min(b), Some(a < b));
        "max_i32" => |a: i32, b: i32| (a.max(b), Some(a >= b));
        "min_u32" => |a: u32, b: u32| (a.min(b), Some(a < b));
        "max_u32" => |a: u32, b: u32| (a.max(b), Some(a >= b));
        "bfm_b32" => |a: u32, b: u32| (((1 << (a & 31)) - 1_u32) << (b & 31), None);
        "bfm_b64" => |a: u32, b: u32| (((1 << (a & 63)) - 1_u64) << (b & 63), None);
        "bfe_u32" => |a: u32, b: u32| nonzero(field(a.into(), b, 32).0 as u32);
        "bfe_u64" => |a: u64, b: u32| nonzero(field(a, b, 64).0);
        "bfe_i32" => |a: u32, b: u32| nonzero(signed_field(a.into(), b, 32) as i32);
        "bfe_i64" => |a: u64, b: u32| nonzero(signed_field(a, b, 64));
        "pack_ll_b32_b16" => |a: u32, b: u32| (a & 0xffff | b << 16, None);
        "pack_lh_b32_b16" => |a: u32, b: u32| (a & 0xffff | b & 0xffff_0000, None);
        "pack_hh_b32_b16" => |a: u32, b: u32| (a >> 16 | b & 0xffff_0000, None);
        "pack_hl_b32_b16" => |a: u32, b: u32| (a >> 16 | b << 16, None);
    }
}

/// Finds arithmetic on floats, which RDNA 4 has for whole waves.
fn floats(name: &str) -> Option<Entry> {
    table! { op, name;
        "add_f32" => |a: f32, b: f32| (a + b, None);
        "sub_f32" => |a: f32, b: f32| (a - b, None);
        "mul_f32" => |a: f32, b: f32| (a * b, None);
        "min_f32" => |a: f32, b: f32| (minimum(a, b), None);
        "max_f32" => |a: f32, b: f32| (maximum(a, b), None);
        "fmac_f32" | "fmamk_f32" | "fmaak_f32" => |a: f32, b: f32, c: f32| (a.mul_add(b, c), None);
        "ceil_f32" => |a: f32| (a.ceil(), None);
        "floor_f32" => |a: f32| (a.floor(), None);
        "trunc_f32" => |a: f32| (a.trunc(), None);
        "rndne_f32" => |a: f32| (a.round_ties_even(), None);
        "cvt_f32_i32" => |a: i32| (a as f32, None);
        "cvt_f32_u32" => |a: u32| (a as f32, None);
        "cvt_i32_f32" => |a: f32| (a as i32, None);
        "cvt_u32_f32" => |a: f32| (a as u32, None);
        "mul_u64" => |a: u64, b: u64| (a.wrapping_mul(b), None);
        // Without a carry.
        "add_u64" => |a: u64, b: u64| (a.wrapping_add(b), None);
        "sub_u64" => |a: u64, b: u64| (a.wrapping_sub(b), None);
    }
}

/// Finds instructions of the vector unit that compute one value for the wave.
pub(super) fn find_in_vector_unit(name: &str) -> Option<Entry> {
    table! { op, name.strip_prefix("v_s_")?;
        "exp_f32" => |a: f32| (approximate(a, f64::exp2), None);
        "log_f32" => |a: f32| (approximate(a, f64::log2), None);
        "rcp_f32" => |a: f32| (approximate(a, |x| 1.0 / x), None);
        "rsq_f32" => |a: f32| (approximate(a, |x| 1.0 / x.sqrt()), None);
        "sqrt_f32" => |a: f32| (approximate(a, f64::sqrt), None);
    }
}

/// Defines the instructions that have a form of 32 bits and one of 64.
macro_rules! of_width {
    ($find:ident, $T:ty) => {
        fn $find(stem: &str) -> Option<Entry> {
            table! { op, stem;
                "mov" => |a: $T| (a, None);
                "not" => |a: $T| nonzero(!a);
                "brev" => |a: $T| (a.reverse_bits(), None);
                "lshl" => |a: $T, b: u32| nonzero(a.wrapping_shl(b));
                "lshr" => |a: $T, b: u32| nonzero(a.wrapping_shr(b));
            }
        }
    };
}
of_width!(of_width32, u32);
of_width!(of_width64, u64);

/// Finds instructions that read the condition code.
fn with_condition(name: &str) -> Option<Entry> {
    Some(match name {
        "addc_u32" => {
            op!(|c, a: u32, b: u32| carried(u64::from(a) + u64::from(b) + u64::from(c.wave.scc)))
        }
        "subb_u32" => {
            op!(|c, a: u32, b: u32| carried(
                u64::from(a).wrapping_sub(u64::from(b) + u64::from(c.wave.scc))
            ))
        }
        "cselect_b32" => op!(|c, a: u32, b: u32| (if c.wave.scc { a } else { b }, None)),
        "cselect_b64" => op!(|c, a: u64, b: u64| (if c.wave.scc { a } else { b }, None)),
        "cmov_b32" => Entry::new(conditional_move::<u32>, 1, 2),
        "cmov_b64" => Entry::new(conditional_move::<u64>, 1, 2),
        _ => return None,
    })
}

fn conditional_move<T: Lane>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    if c.wave.scc {
        T::get(c.wave, &i.operands[1]).set(c.wave, &i.operands[0]);
    }
    Ok(())
}

/// Finds operations on all bits. `s_and_saveexec_b64` and its like keep EXEC and combine it with a mask.
fn logic(name: &str) -> Option<Entry> {
    macro_rules! logic {
        ($($($text:literal)|+ => |$a:ident, $b:ident| $result:expr;)*) => {
            match name.rsplit_once('_')? {
                $($(($text, "b32"))|+ => op!(|$a: u32, $b: u32| nonzero($result)),
                $(($text, "b64"))|+ => op!(|$a: u64, $b: u64| nonzero($result)),)*
                (name, "b32" | "b64") => match name.strip_suffix("_saveexec")? {
                    $($($text)|+ => {
                        let run: Run = |c, i| {
                            let ($a, $b) = (c.wave.mask(&i.operands[1]), c.wave.exec());
                            save_exec(c, i, $result)
                        };
                        Entry::new(run, 1, 2)
                    })*
                    _ => return None,
                }
                _ => return None,
            }
        };
    }
    Some(logic! {
        "and" => |a, b| a & b;
        "or" => |a, b| a | b;
        "xor" => |a, b| a ^ b;
        "andn2" | "and_not1" => |a, b| a & !b;
        "orn2" | "or_not1" => |a, b| a | !b;
        "andn1" | "and_not0" => |a, b| !a & b;
        "orn1" | "or_not0" => |a, b| !a | b;
        "nand" => |a, b| !(a & b);
        "nor" => |a, b| !(a | b);
        "xnor" => |a, b| !(a ^ b);
    })
}

fn save_exec(c: &mut Core<'_>, i: &Instruction, combined: u64) -> Outcome {
    let combined = combined & c.wave.all_lanes();
    let old = c.wave.exec();
    c.wave.set_mask(&i.operands[0], old);
    c.wave.set_exec(combined);
    c.wave.scc = combined != 0;
    Ok(())
}

/// Finds instructions that compute `dst = f(dst, constant of 16 bits)`.
fn in_place(name: &str) -> Option<Entry> {
    macro_rules! in_place {
        (|$a:ident: $A:ty, $k:ident: $K:ty| $result:expr) => {{
            let run: Run = |c, i| {
                let $a = <$A>::get(c.wave, &i.operands[0]);
                let $k = <$A>::from(<$K>::get(c.wave, &i.operands[1]));
                finish(c, i, $result)
            };
            Entry::new(run, 1, 2)
        }};
    }
    table! { in_place, name;
        "addk_i32" => |a: i32, k: i16| signed(a.overflowing_add(k));
        "mulk_i32" => |a: i32, k: i16| (a.wrapping_mul(k), None);
        "bitset0_b32" => |a: i32, k: i16| (a & !(1 << (k & 31)), None);
        "bitset1_b32" => |a: i32, k: i16| (a | 1 << (k & 31), None);
    }
}

/// Finds tests of one bit, which set the condition code.
fn bit_test(name: &str) -> Option<Entry> {
    let run: Run = match name {
        "bitcmp0_b32" => |c, i| test_bit(c, i, false),
        "bitcmp1_b32" => |c, i| test_bit(c, i, true),
        _ => return None,
    };
    Some(Entry::new(run, 0, 2))
}

fn test_bit(c: &mut Core<'_>, i: &Instruction, wanted: bool) -> Outcome {
    let [value, bit] = [0, 1].map(|at| u32::get(c.wave, &i.operands[at]));
    c.wave.scc = (value >> (bit & 31) & 1 == 1) == wanted;
    Ok(())
}
