//! Comparisons, which give one bit per lane, or the condition code of the wave.

use super::Entry;
use crate::core::{Core, Outcome, ballot};
use crate::instruction::{Instruction, Run};
use crate::operand::EXEC;
use crate::wave::Lane;

const LESS: u32 = 1;
const EQUAL: u32 = 2;
const GREATER: u32 = 4;
/// The outcome of a comparison if one of the two values is no number (NaN).
const UNORDERED: u32 = 8;
const ALL: u32 = 15;

/// Finds comparisons such as `v_cmp_lt_f32`, `v_cmpx_gt_u32` and `v_cmp_class_f32`.
pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    let (start, rest) = name.strip_prefix("v_cmp")?.split_once('_')?;
    let (relation, kind) = rest.rsplit_once('_')?;
    let run: Run = match (relation, kind) {
        ("class", "f32") => class::<N, f32>,
        ("class", "f64") => class::<N, f64>,
        (_, "f32") => compare::<N, f32>,
        (_, "f64") => compare::<N, f64>,
        (_, "i32") => compare::<N, i32>,
        (_, "u32") => compare::<N, u32>,
        (_, "i64") => compare::<N, i64>,
        (_, "u64") => compare::<N, u64>,
        (_, "i16") => compare::<N, i16>,
        (_, "u16") => compare::<N, u16>,
        _ => return None,
    };
    let accepted = match relation {
        "class" => 0,
        _ => outcomes(relation)?,
    };
    Some(Entry::new(run, 1, 3).with([accepted, u32::from(start == "x"), 0, 0]))
}

/// Finds comparisons such as `cmp_lt_i32` and `cmpk_gt_u32` of values of the wave. The constant of the short form has 16
/// bits. The compiler writes it as a signed or as an unsigned number.
pub(super) fn find_scalar(name: &str) -> Option<Entry> {
    let rest = name.strip_prefix("cmp_").or(name.strip_prefix("cmpk_"))?;
    let (relation, kind) = rest.rsplit_once('_')?;
    let run: Run = match kind {
        "i32" => compare_scalars::<i32>,
        "u32" => compare_scalars::<u32>,
        "u64" => compare_scalars::<u64>,
        "f32" => compare_scalars::<f32>,
        _ => return None,
    };
    Some(Entry::new(run, 0, 2).with([outcomes(relation)?, 0, 0, 0]))
}

/// Returns the outcomes for which a relation holds.
fn outcomes(relation: &str) -> Option<u32> {
    Some(match relation {
        "f" => 0,
        "lt" => LESS,
        "eq" => EQUAL,
        "le" => LESS | EQUAL,
        "gt" => GREATER,
        "lg" | "ne" => LESS | GREATER,
        "ge" => GREATER | EQUAL,
        "o" => ALL - UNORDERED,
        "u" => UNORDERED,
        "nge" => ALL - GREATER - EQUAL,
        "nlg" => ALL - LESS - GREATER,
        "ngt" => ALL - GREATER,
        "nle" => ALL - LESS - EQUAL,
        "neq" => ALL - EQUAL,
        "nlt" => ALL - LESS,
        "t" | "tru" => ALL,
        _ => return None,
    })
}

/// Returns the outcome of a comparison.
#[inline(always)]
fn outcome<T: PartialOrd>(a: T, b: T) -> u32 {
    let [less, equal, greater] = [a < b, a == b, a > b].map(u32::from);
    let unordered = 1 - (less | equal | greater);
    less * LESS + equal * EQUAL + greater * GREATER + unordered * UNORDERED
}

fn compare_scalars<T: Lane + PartialOrd>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [a, b] = [0, 1].map(|at| T::get(c.wave, &i.operands[at]));
    c.wave.scc = outcome(a, b) & i.extra[0] != 0;
    Ok(())
}

fn write(c: &mut Core<'_>, i: &Instruction, mask: u64) -> Outcome {
    if i.extra[1] == 1 {
        c.wave.set_exec(mask);
    }
    if i.operands[0].index != EXEC {
        c.wave.set_mask(&i.operands[0], mask);
    }
    Ok(())
}

fn compare<const N: usize, T: Lane + PartialOrd>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let (a, b) = (
        T::read::<N>(c.wave, &i.operands[1]),
        T::read::<N>(c.wave, &i.operands[2]),
    );
    let accepted = i.extra[0];
    let mask = ballot::<N>(c.wave, |lane| outcome(a[lane], b[lane]) & accepted != 0);
    write(c, i, mask)
}

/// Tests each lane's kind of number: one bit per kind, from the signalling NaN to positive infinity.
fn class<const N: usize, F: Lane + Into<f64>>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    let values = F::read::<N>(c.wave, &i.operands[1]);
    let wanted = u32::read::<N>(c.wave, &i.operands[2]);
    let mask = ballot::<N>(c.wave, |lane| {
        let bits = values[lane].words();
        let (category, quiet) = match F::WIDE {
            true => (f64::from_bits(bits).classify(), 1 << 51),
            false => (f32::from_bits(bits as u32).classify(), 1 << 22),
        };
        let is_negative = Into::<f64>::into(values[lane]).is_sign_negative();
        let kind = match category {
            Nan => return wanted[lane] >> u32::from(bits & quiet != 0) & 1 == 1,
            Infinite => 2,
            Normal => 3,
            Subnormal => 4,
            Zero => 5,
        };
        wanted[lane] >> if is_negative { kind } else { 11 - kind } & 1 == 1
    });
    write(c, i, mask)
}
