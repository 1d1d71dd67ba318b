//! Vector arithmetic on 64 bits, with carries, and the steps of a division.

use super::Entry;
use super::vector::op;
use crate::core::{Core, Done, ballot, map1, map2, map3};
use crate::float::{self, Division};
use crate::instruction::{Instruction, Run};
use crate::wave::Lane;

pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    let with_carry = |run: Run, reads: usize| Some(Entry::new(run, 2, 4 + reads));
    Some(match name {
        "v_mov_b64" => op!(|a: u64| a),
        "v_lshlrev_b64" => op!(|a: u32, b: u64| b.wrapping_shl(a)),
        "v_lshrrev_b64" => op!(|a: u32, b: u64| b.wrapping_shr(a)),
        "v_ashrrev_i64" => op!(|a: u32, b: i64| b.wrapping_shr(a)),
        "v_lshl_add_u64" => op!(|a: u64, b: u32, c: u64| a.wrapping_shl(b).wrapping_add(c)),
        "v_add_f64" => op!(|a: f64, b: f64| a + b),
        "v_mul_f64" => op!(|a: f64, b: f64| a * b),
        "v_min_f64" => op!(|a: f64, b: f64| a.min(b)),
        "v_max_f64" => op!(|a: f64, b: f64| a.max(b)),
        "v_fma_f64" | "v_fmac_f64" => op!(|a: f64, b: f64, c: f64| a.mul_add(b, c)),
        "v_rcp_f64" => op!(|a: f64| 1.0 / a),
        "v_rsq_f64" => op!(|a: f64| 1.0 / a.sqrt()),
        "v_sqrt_f64" => op!(|a: f64| a.sqrt()),
        "v_floor_f64" => op!(|a: f64| a.floor()),
        "v_ceil_f64" => op!(|a: f64| a.ceil()),
        "v_trunc_f64" => op!(|a: f64| a.trunc()),
        "v_rndne_f64" => op!(|a: f64| a.round_ties_even()),
        "v_fract_f64" => op!(|a: f64| (a - a.floor()).min(1.0_f64.next_down())),
        "v_ldexp_f64" => op!(|a: f64, b: i32| float::ldexp(a, b)),
        "v_frexp_exp_i32_f64" => op!(|a: f64| match a {
            _ if a == 0.0 || !a.is_finite() => 0,
            _ if a.is_subnormal() => a.abs().log2().floor() as i32 + 1,
            _ => (a.to_bits() >> 52 & 2047) as i32 - 1022,
        }),
        "v_frexp_mant_f64" => op!(|a: f64| match a {
            _ if a == 0.0 || !a.is_normal() => a,
            _ => f64::from_bits(a.to_bits() & 0x800f_ffff_ffff_ffff | 1022 << 52),
        }),
        "v_cvt_f32_f64" => op!(|a: f64| a as f32),
        "v_cvt_f64_f32" => op!(|a: f32| f64::from(a)),
        "v_cvt_f64_i32" => op!(|a: i32| f64::from(a)),
        "v_cvt_f64_u32" => op!(|a: u32| f64::from(a)),
        "v_cvt_i32_f64" => op!(|a: f64| a as i32),
        "v_cvt_u32_f64" => op!(|a: f64| a as u32),
        "v_div_fixup_f64" => op!(|a: f64, b: f64, c: f64| float::div_fixup(a, b, c)),
        "v_div_scale_f32" => return with_carry(div_scale::<N, f32>, 1),
        "v_div_scale_f64" => return with_carry(div_scale::<N, f64>, 1),
        "v_div_fmas_f32" => Entry::new(div_fmas::<N, f32>, 1, 4),
        "v_div_fmas_f64" => Entry::new(div_fmas::<N, f64>, 1, 4),
        "v_add_co_u32" => return with_carry(|c, i| run_remotely::<N>(c, i, |a, b, _| a + b), 0),
        "v_sub_co_u32" => {
            return with_carry(
                |c, i| run_remotely::<N>(c, i, |a, b, _| a.wrapping_sub(b)),
                0,
            );
        }
        "v_subrev_co_u32" => {
            return with_carry(
                |c, i| run_remotely::<N>(c, i, |a, b, _| b.wrapping_sub(a)),
                0,
            );
        }
        "v_addc_co_u32" | "v_add_co_ci_u32" => {
            return with_carry(|c, i| run_remotely::<N>(c, i, |a, b, n| a + b + n), 1);
        }
        "v_subb_co_u32" | "v_sub_co_ci_u32" => {
            return with_carry(
                |c, i| run_remotely::<N>(c, i, |a, b, n| a.wrapping_sub(b).wrapping_sub(n)),
                1,
            );
        }
        "v_subbrev_co_u32" | "v_subrev_co_ci_u32" => {
            return with_carry(
                |c, i| run_remotely::<N>(c, i, |a, b, n| b.wrapping_sub(a).wrapping_sub(n)),
                1,
            );
        }
        "v_mad_u64_u32" => return with_carry(mad::<N, false>, 1),
        "v_mad_i64_i32" => return with_carry(mad::<N, true>, 1),
        _ => return None,
    })
}

/// Computes sums in 64 bits. Bit 32 is the carry or the borrow.
#[inline(always)]
fn run_remotely<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    f: impl Fn(u64, u64, u64) -> u64,
) -> Done {
    let [a, b] = [2, 3].map(|at| u32::read::<N>(c.wave, &i.operands[at]));
    let carried = i.operands.get(4).map_or(0, |operand| c.wave.mask(operand));
    let sums: [u64; N] =
        std::array::from_fn(|lane| f(a[lane].into(), b[lane].into(), carried >> lane & 1));
    let mask = ballot::<N>(c.wave, |lane| sums[lane] >> 32 & 1 == 1);
    u32::write(c.wave, &i.operands[0], &sums.map(|sum| sum as u32));
    c.wave.set_mask(&i.operands[1], mask);
    Ok(())
}

fn mad<const N: usize, const SIGNED: bool>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [a, b] = [2, 3].map(|at| u32::read::<N>(c.wave, &i.operands[at]));
    let addend = u64::read::<N>(c.wave, &i.operands[4]);
    let mut overflow = [false; N];
    let result: [u64; N] = std::array::from_fn(|lane| {
        if SIGNED {
            let product = i64::from(a[lane].cast_signed()) * i64::from(b[lane].cast_signed());
            let (sum, over) = product.overflowing_add(addend[lane].cast_signed());
            overflow[lane] = over;
            sum.cast_unsigned()
        } else {
            let (sum, over) =
                (u64::from(a[lane]) * u64::from(b[lane])).overflowing_add(addend[lane]);
            overflow[lane] = over;
            sum
        }
    });
    let mask = ballot::<N>(c.wave, |lane| overflow[lane]);
    u64::write(c.wave, &i.operands[0], &result);
    c.wave.set_mask(&i.operands[1], mask);
    Ok(())
}

fn div_scale<const N: usize, F: Lane + Division>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [chosen, denominator, numerator] =
        [2, 3, 4].map(|at| F::read::<N>(c.wave, &i.operands[at]));
    let scaled: [(F, bool); N] = std::array::from_fn(|lane| {
        float::div_scale(chosen[lane], denominator[lane], numerator[lane])
    });
    let mask = ballot::<N>(c.wave, |lane| scaled[lane].1);
    F::write(c.wave, &i.operands[0], &scaled.map(|(value, _)| value));
    c.wave.set_mask(&i.operands[1], mask);
    Ok(())
}

fn div_fmas<const N: usize, F: Lane + Division>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [x, y, z] = [1, 2, 3].map(|at| F::read::<N>(c.wave, &i.operands[at]));
    let vcc = c.wave.vcc();
    let result: [F; N] = std::array::from_fn(|lane| {
        float::div_fmas(x[lane], y[lane], z[lane], vcc >> lane & 1 == 1)
    });
    F::write(c.wave, &i.operands[0], &result);
    Ok(())
}
