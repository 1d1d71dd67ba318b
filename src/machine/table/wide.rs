//! Vector arithmetic on 64 bits, with carries, and the steps of a division.

use super::vector::op;
use super::{Entry, table};
use crate::core::{Core, Outcome, ballot};
use crate::float::{self, Division};
use crate::instruction::{Instruction, Run};
use crate::wave::Lane;

pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    let name = name.strip_prefix("v_")?;
    arithmetic::<N>(name)
        .or_else(|| with_carry::<N>(name))
        .or_else(|| {
            Some(match name {
                "div_fmas_f32" => Entry::new(div_fmas::<N, f32>, 1, 4),
                "div_fmas_f64" => Entry::new(div_fmas::<N, f64>, 1, 4),
                _ => return None,
            })
        })
}

fn arithmetic<const N: usize>(name: &str) -> Option<Entry> {
    table! { op, name;
        "mov_b64" => |a: u64| a;
        "lshlrev_b64" => |a: u32, b: u64| b.wrapping_shl(a);
        "lshrrev_b64" => |a: u32, b: u64| b.wrapping_shr(a);
        "ashrrev_i64" => |a: u32, b: i64| b.wrapping_shr(a);
        "lshl_add_u64" => |a: u64, b: u32, c: u64| (a << (b & 7)).wrapping_add(c);
        // Of two zeros, the negative one is the smaller.
        "min_f64" => |a: f64, b: f64| if a == b { f64::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) };
        "max_f64" => |a: f64, b: f64| if a == b { f64::from_bits(a.to_bits() & b.to_bits()) } else { a.max(b) };
        "fma_f64" | "fmac_f64" => |a: f64, b: f64, c: f64| a.mul_add(b, c);
        "rcp_f64" => |a: f64| 1.0 / a;
        "rsq_f64" => |a: f64| 1.0 / a.sqrt();
        "sqrt_f64" => |a: f64| a.sqrt();
        "ldexp_f64" => |a: f64, b: i32| float::ldexp(a, b);
        "frexp_exp_i32_f64" => |a: f64| float::frexp(a).1;
        "frexp_mant_f64" => |a: f64| float::frexp(a).0;
    }
}

/// Finds instructions with a second result: a carry, an overflow or a condition, one bit per lane.
fn with_carry<const N: usize>(name: &str) -> Option<Entry> {
    let run: Run = match name {
        "add_co_u32" | "addc_co_u32" | "add_co_ci_u32" => {
            |c, i| sum::<N>(c, i, |a, b, n| a + b + n)
        }
        "sub_co_u32" | "subb_co_u32" | "sub_co_ci_u32" => {
            |c, i| sum::<N>(c, i, |a, b, n| a - b - n)
        }
        "subrev_co_u32" | "subbrev_co_u32" | "subrev_co_ci_u32" => {
            |c, i| sum::<N>(c, i, |a, b, n| b - a - n)
        }
        "mad_u64_u32" => |c, i| {
            let product = |a, b| u64::from(a) * u64::from(b);
            mad::<N, u32, u64>(c, i, |a, b, addend| product(a, b).overflowing_add(addend))
        },
        "mad_i64_i32" => |c, i| {
            let product = |a, b| i64::from(a) * i64::from(b);
            mad::<N, i32, i64>(c, i, |a, b, addend| product(a, b).overflowing_add(addend))
        },
        "div_scale_f32" => div_scale::<N, f32>,
        "div_scale_f64" => div_scale::<N, f64>,
        _ => return None,
    };
    let reads = if name.contains("_co_u32") { 2 } else { 3 };
    Some(Entry::new(run, 2, 2 + reads))
}

/// Writes the results, and the bits of all lanes.
#[inline(always)]
fn write_both<const N: usize, T: Lane>(
    c: &mut Core<'_>,
    i: &Instruction,
    result: impl Fn(usize) -> (T, bool),
) -> Outcome {
    let results: [(T, bool); N] = std::array::from_fn(result);
    let mask = ballot::<N>(c.wave, |lane| results[lane].1);
    T::write::<N>(c.wave, &i.operands[0], |lane| results[lane].0);
    c.wave.set_mask(&i.operands[1], mask);
    Ok(())
}

/// Computes sums in 64 bits. Bit 32 is the carry or the borrow.
#[inline(always)]
fn sum<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    f: impl Fn(i64, i64, i64) -> i64,
) -> Outcome {
    let [a, b] = [2, 3].map(|at| u32::read::<N>(c.wave, &i.operands[at]));
    let carried = i.operands.get(4).map_or(0, |operand| c.wave.mask(operand));
    write_both::<N, u32>(c, i, |lane| {
        let carry = i64::from(carried >> lane & 1 == 1);
        let sum = f(a[lane].into(), b[lane].into(), carry);
        (sum as u32, sum >> 32 & 1 == 1)
    })
}

#[inline(always)]
fn mad<const N: usize, A: Lane, T: Lane>(
    c: &mut Core<'_>,
    i: &Instruction,
    f: impl Fn(A, A, T) -> (T, bool),
) -> Outcome {
    let [a, b] = [2, 3].map(|at| A::read::<N>(c.wave, &i.operands[at]));
    let addend = T::read::<N>(c.wave, &i.operands[4]);
    write_both::<N, T>(c, i, |lane| f(a[lane], b[lane], addend[lane]))
}

fn div_scale<const N: usize, F: Lane + Division>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [chosen, denominator, numerator] =
        [2, 3, 4].map(|at| F::read::<N>(c.wave, &i.operands[at]));
    write_both::<N, F>(c, i, |lane| {
        float::div_scale(chosen[lane], denominator[lane], numerator[lane])
    })
}

fn div_fmas<const N: usize, F: Lane + Division>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [x, y, z] = [1, 2, 3].map(|at| F::read::<N>(c.wave, &i.operands[at]));
    let vcc = c.wave.vcc();
    let result = |lane| float::div_fmas(x[lane], y[lane], z[lane], vcc >> lane & 1 == 1);
    F::write::<N>(c.wave, &i.operands[0], result);
    Ok(())
}
