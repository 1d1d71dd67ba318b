//! Scalar arithmetic: one value per wave.

use super::Entry;
use crate::core::{Core, Done};
use crate::instruction::{Instruction, Run};
use crate::operand::{Kind, Operand};
use crate::wave::Wave;

/// A scalar value, in one register or two.
trait Scalar: Copy {
    fn get(wave: &Wave, operand: &Operand) -> Self;
    fn set(self, wave: &mut Wave, operand: &Operand);
}

macro_rules! scalar {
    ($type:ty, $get:ident, $set:ident, |$bits:ident| $from:expr, |$value:ident| $to:expr) => {
        impl Scalar for $type {
            fn get(wave: &Wave, operand: &Operand) -> Self {
                let $bits = wave.$get(operand);
                $from
            }
            fn set(self, wave: &mut Wave, operand: &Operand) {
                let $value = self;
                wave.$set(operand, $to);
            }
        }
    };
}
scalar!(u32, scalar, set_scalar, |bits| bits, |value| value);
scalar!(
    i32,
    scalar,
    set_scalar,
    |bits| bits.cast_signed(),
    |value| value.cast_unsigned()
);
scalar!(u64, scalar64, set_scalar64, |bits| bits, |value| value);
scalar!(
    i64,
    scalar64,
    set_scalar64,
    |bits| bits.cast_signed(),
    |value| value.cast_unsigned()
);

/// Writes a result, and the condition code if the instruction sets it.
fn finish<R: Scalar>(c: &mut Core<'_>, i: &Instruction, (result, scc): (R, Option<bool>)) -> Done {
    result.set(c.wave, &i.operands[0]);
    if let Some(scc) = scc {
        c.wave.scc = scc;
    }
    Ok(())
}

/// Builds an entry. Its closure returns the result, or with `scc` the result and the condition code. In the last form
/// the closure also receives the old condition code.
macro_rules! op {
    (|$a:ident: $A:ty| $result:expr) => {
        Entry::new(
            (|c, i| {
                let $a = <$A>::get(c.wave, &i.operands[1]);
                finish(c, i, $result)
            }) as Run,
            1,
            2,
        )
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty| $result:expr) => {
        op!(|$a: $A, $b: $B, _scc| $result)
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $scc:ident| $result:expr) => {
        Entry::new(
            (|c, i| {
                let $a = <$A>::get(c.wave, &i.operands[1]);
                let $b = <$B>::get(c.wave, &i.operands[2]);
                let $scc = c.wave.scc;
                finish(c, i, $result)
            }) as Run,
            1,
            3,
        )
    };
}

/// Sets the condition code if the result is not zero.
fn nonzero<T: PartialEq + Default>(value: T) -> (T, Option<bool>) {
    let scc = value != T::default();
    (value, Some(scc))
}

fn run_remotely(sum: u64) -> (u32, Option<bool>) {
    (sum as u32, Some(sum >> 32 & 1 == 1))
}

fn signed(result: (i32, bool)) -> (i32, Option<bool>) {
    (result.0, Some(result.1))
}

/// Returns offset and width of a field, which one operand holds.
fn field(b: u32, bits: u32) -> (u32, u32) {
    let offset = b & (bits - 1);
    (offset, (b >> 16 & 127).min(bits - offset))
}

/// Computes `dst = f(dst, constant of 16 bits)`.
macro_rules! in_place {
    ($f:expr) => {
        Entry::new(
            (|c, i| {
                let a = c.wave.scalar(&i.operands[0]).cast_signed();
                let k = c.wave.scalar(&i.operands[1]);
                let f: fn(&mut Core<'_>, i32, i32) -> i32 = $f;
                let result = f(c, a, i32::from(k as i16)).cast_unsigned();
                c.wave.set_scalar(&i.operands[0], result);
                Ok(())
            }) as Run,
            1,
            2,
        )
    };
}
pub(super) fn find(name: &str) -> Option<Entry> {
    Some(match name {
        "s_mov_b32" => op!(|a: u32| (a, None)),
        "s_mov_b64" => op!(|a: u64| (a, None)),
        "s_movk_i32" => op!(|a: u32| (a as i16 as i32, None)),
        "s_cmov_b32" => conditional_move(false),
        "s_cmov_b64" => conditional_move(true),
        "s_not_b32" => op!(|a: u32| nonzero(!a)),
        "s_not_b64" => op!(|a: u64| nonzero(!a)),
        "s_brev_b32" => op!(|a: u32| (a.reverse_bits(), None)),
        "s_brev_b64" => op!(|a: u64| (a.reverse_bits(), None)),
        "s_abs_i32" => op!(|a: i32| nonzero(a.wrapping_abs())),
        "s_bcnt1_i32_b32" => op!(|a: u32| nonzero(a.count_ones())),
        "s_bcnt1_i32_b64" => op!(|a: u64| nonzero(a.count_ones())),
        "s_ff1_i32_b32" | "s_ctz_i32_b32" => {
            op!(|a: u32| (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None))
        }
        "s_ff1_i32_b64" | "s_ctz_i32_b64" => {
            op!(|a: u64| (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None))
        }
        "s_flbit_i32_b32" | "s_clz_i32_u32" => {
            op!(|a: u32| (if a == 0 { u32::MAX } else { a.leading_zeros() }, None))
        }
        "s_flbit_i32_b64" | "s_clz_i32_u64" => {
            op!(|a: u64| (if a == 0 { u32::MAX } else { a.leading_zeros() }, None))
        }
        "s_sext_i32_i8" => op!(|a: u32| (a as i8 as i32, None)),
        "s_sext_i32_i16" => op!(|a: u32| (a as i16 as i32, None)),
        "s_add_u32" => op!(|a: u32, b: u32| run_remotely(u64::from(a) + u64::from(b))),
        "s_addc_u32" => {
            op!(|a: u32, b: u32, scc| run_remotely(u64::from(a) + u64::from(b) + u64::from(scc)))
        }
        "s_sub_u32" => op!(|a: u32, b: u32| run_remotely(u64::from(a).wrapping_sub(b.into()))),
        "s_subb_u32" => op!(|a: u32, b: u32, scc| run_remotely(
            u64::from(a).wrapping_sub(u64::from(b) + u64::from(scc))
        )),
        "s_add_i32" => op!(|a: i32, b: i32| signed(a.overflowing_add(b))),
        "s_sub_i32" => op!(|a: i32, b: i32| signed(a.overflowing_sub(b))),
        "s_mul_i32" => op!(|a: u32, b: u32| (a.wrapping_mul(b), None)),
        "s_mul_hi_u32" => {
            op!(|a: u32, b: u32| (((u64::from(a) * u64::from(b)) >> 32) as u32, None))
        }
        "s_mul_hi_i32" => {
            op!(|a: i32, b: i32| (((i64::from(a) * i64::from(b)) >> 32) as i32, None))
        }
        "s_absdiff_i32" => op!(|a: i32, b: i32| nonzero(a.wrapping_sub(b).wrapping_abs())),
        "s_and_b32" => op!(|a: u32, b: u32| nonzero(a & b)),
        "s_and_b64" => op!(|a: u64, b: u64| nonzero(a & b)),
        "s_or_b32" => op!(|a: u32, b: u32| nonzero(a | b)),
        "s_or_b64" => op!(|a: u64, b: u64| nonzero(a | b)),
        "s_xor_b32" => op!(|a: u32, b: u32| nonzero(a ^ b)),
        "s_xor_b64" => op!(|a: u64, b: u64| nonzero(a ^ b)),
        "s_andn2_b32" | "s_and_not1_b32" => op!(|a: u32, b: u32| nonzero(a & !b)),
        "s_andn2_b64" | "s_and_not1_b64" => op!(|a: u64, b: u64| nonzero(a & !b)),
        "s_orn2_b32" | "s_or_not1_b32" => op!(|a: u32, b: u32| nonzero(a | !b)),
        "s_orn2_b64" | "s_or_not1_b64" => op!(|a: u64, b: u64| nonzero(a | !b)),
        "s_nand_b32" => op!(|a: u32, b: u32| nonzero(!(a & b))),
        "s_nand_b64" => op!(|a: u64, b: u64| nonzero(!(a & b))),
        "s_nor_b32" => op!(|a: u32, b: u32| nonzero(!(a | b))),
        "s_nor_b64" => op!(|a: u64, b: u64| nonzero(!(a | b))),
        "s_xnor_b32" => op!(|a: u32, b: u32| nonzero(!(a ^ b))),
        "s_xnor_b64" => op!(|a: u64, b: u64| nonzero(!(a ^ b))),
        "s_lshl_b32" => op!(|a: u32, b: u32| nonzero(a.wrapping_shl(b))),
        "s_lshl_b64" => op!(|a: u64, b: u32| nonzero(a.wrapping_shl(b))),
        "s_lshr_b32" => op!(|a: u32, b: u32| nonzero(a.wrapping_shr(b))),
        "s_lshr_b64" => op!(|a: u64, b: u32| nonzero(a.wrapping_shr(b))),
        "s_ashr_i32" => op!(|a: i32, b: u32| nonzero(a.wrapping_shr(b))),
        "s_ashr_i64" => op!(|a: i64, b: u32| nonzero(a.wrapping_shr(b))),
        "s_lshl1_add_u32" => op!(|a: u32, b: u32| run_remotely((u64::from(a) << 1) + u64::from(b))),
        "s_lshl2_add_u32" => op!(|a: u32, b: u32| run_remotely((u64::from(a) << 2) + u64::from(b))),
        "s_lshl3_add_u32" => op!(|a: u32, b: u32| run_remotely((u64::from(a) << 3) + u64::from(b))),
        "s_lshl4_add_u32" => op!(|a: u32, b: u32| run_remotely((u64::from(a) << 4) + u64::from(b))),
        "s_min_i32" => op!(|a: i32, b: i32| (a.min(b), Some(a < b))),
        "s_max_i32" => op!(|a: i32, b: i32| (a.max(b), Some(a > b))),
        "s_min_u32" => op!(|a: u32, b: u32| (a.min(b), Some(a < b))),
        "s_max_u32" => op!(|a: u32, b: u32| (a.max(b), Some(a > b))),
        "s_bfm_b32" => op!(|a: u32, b: u32| (((1 << (a & 31)) - 1_u32) << (b & 31), None)),
        "s_bfm_b64" => op!(|a: u32, b: u32| (((1 << (a & 63)) - 1_u64) << (b & 63), None)),
        "s_bfe_u32" => op!(|a: u32, b: u32| {
            let (offset, width) = field(b, 32);
            nonzero(a >> offset & ((1_u64 << width) - 1) as u32)
        }),
        "s_bfe_u64" => op!(|a: u64, b: u32| {
            let (offset, width) = field(b, 64);
            nonzero(a >> offset & ((1_u128 << width) - 1) as u64)
        }),
        "s_bfe_i32" => op!(|a: u32, b: u32| {
            let (offset, width) = field(b, 32);
            let wide = (u64::from(a >> offset) << (64 - width.max(1))).cast_signed()
                >> (64 - width.max(1));
            nonzero(if width == 0 { 0 } else { wide as i32 })
        }),
        "s_cselect_b32" => op!(|a: u32, b: u32, scc| (if scc { a } else { b }, None)),
        "s_cselect_b64" => op!(|a: u64, b: u64, scc| (if scc { a } else { b }, None)),
        "s_pack_ll_b32_b16" => op!(|a: u32, b: u32| (a & 0xffff | b << 16, None)),
        "s_pack_lh_b32_b16" => op!(|a: u32, b: u32| (a & 0xffff | b & 0xffff_0000, None)),
        "s_pack_hh_b32_b16" => op!(|a: u32, b: u32| (a >> 16 | b & 0xffff_0000, None)),
        "s_pack_hl_b32_b16" => op!(|a: u32, b: u32| (a >> 16 | b << 16, None)),
        "s_addk_i32" => in_place!(|c, a, k| {
            let (sum, overflow) = a.overflowing_add(k);
            c.wave.scc = overflow;
            sum
        }),
        "s_mulk_i32" => in_place!(|_, a, k| a.wrapping_mul(k)),
        "s_bitset0_b32" => in_place!(|_, a, k| a & !(1 << (k & 31))),
        "s_bitset1_b32" => in_place!(|_, a, k| a | 1 << (k & 31)),
        _ => return comparison(name).or_else(|| saving_exec(name)),
    })
}

fn conditional_move(wide: bool) -> Entry {
    Entry::new(
        if wide {
            |c, i| {
                if c.wave.scc {
                    let value = c.wave.scalar64(&i.operands[1]);
                    c.wave.set_scalar64(&i.operands[0], value);
                }
                Ok(())
            }
        } else {
            |c, i| {
                if c.wave.scc {
                    let value = c.wave.scalar(&i.operands[1]);
                    c.wave.set_scalar(&i.operands[0], value);
                }
                Ok(())
            }
        },
        1,
        2,
    )
}

fn comparison(name: &str) -> Option<Entry> {
    macro_rules! compare {
        ($type:ty, |$a:ident, $b:ident| $result:expr) => {
            Entry::new(
                (|c, i| {
                    let $a = <$type>::get(c.wave, &i.operands[0]);
                    let $b = <$type>::get(c.wave, &i.operands[1]);
                    c.wave.scc = $result;
                    Ok(())
                }) as Run,
                0,
                2,
            )
        };
    }
    let name = name.strip_prefix("s_")?;
    // The constant of the short form has 16 bits. The compiler writes it as a signed or as an unsigned number.
    Some(match name.replace("cmpk_", "cmp_").as_str() {
        "cmp_eq_i32" | "cmp_eq_u32" => compare!(u32, |a, b| a == b),
        "cmp_lg_i32" | "cmp_lg_u32" => compare!(u32, |a, b| a != b),
        "cmp_gt_i32" => compare!(i32, |a, b| a > b),
        "cmp_ge_i32" => compare!(i32, |a, b| a >= b),
        "cmp_lt_i32" => compare!(i32, |a, b| a < b),
        "cmp_le_i32" => compare!(i32, |a, b| a <= b),
        "cmp_gt_u32" => compare!(u32, |a, b| a > b),
        "cmp_ge_u32" => compare!(u32, |a, b| a >= b),
        "cmp_lt_u32" => compare!(u32, |a, b| a < b),
        "cmp_le_u32" => compare!(u32, |a, b| a <= b),
        "cmp_eq_u64" => compare!(u64, |a, b| a == b),
        "cmp_lg_u64" => compare!(u64, |a, b| a != b),
        "bitcmp0_b32" => compare!(u32, |a, b| a >> (b & 31) & 1 == 0),
        "bitcmp1_b32" => compare!(u32, |a, b| a >> (b & 31) & 1 == 1),
        _ => return None,
    })
}

/// Finds instructions such as `s_and_saveexec_b64`, which keep EXEC and combine it with a mask.
fn saving_exec(name: &str) -> Option<Entry> {
    macro_rules! save {
        (|$mask:ident, $exec:ident| $result:expr) => {
            Entry::new(
                (|c, i| {
                    let ($mask, $exec) = (c.wave.mask(&i.operands[1]), c.wave.exec());
                    let result = ($result) & c.wave.all_lanes();
                    c.wave.set_mask(&i.operands[0], $exec);
                    c.wave.set_exec(result);
                    c.wave.scc = result != 0;
                    Ok(())
                }) as Run,
                1,
                2,
            )
        };
    }
    let (operation, bits) = name.strip_prefix("s_")?.split_once("_saveexec_b")?;
    if bits != "32" && bits != "64" {
        return None;
    }
    Some(match operation {
        "and" => save!(|mask, exec| mask & exec),
        "or" => save!(|mask, exec| mask | exec),
        "xor" => save!(|mask, exec| mask ^ exec),
        "andn2" | "and_not1" => save!(|mask, exec| mask & !exec),
        "orn2" | "or_not1" => save!(|mask, exec| mask | !exec),
        "andn1" | "and_not0" => save!(|mask, exec| !mask & exec),
        "orn1" | "or_not0" => save!(|mask, exec| !mask | exec),
        "nand" => save!(|mask, exec| !(mask & exec)),
        "nor" => save!(|mask, exec| !(mask | exec)),
        "xnor" => save!(|mask, exec| !(mask ^ exec)),
        _ => return None,
    })
}

/// Returns a label's instruction, if an operand names one.
pub(super) fn target(i: &Instruction) -> Option<u32> {
    let label = i
        .operands
        .iter()
        .find(|operand| operand.kind == Kind::Label)?;
    u32::try_from(label.value).ok()
}
