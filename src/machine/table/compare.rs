//! Comparisons, which give one bit per lane.

use super::Entry;
use crate::core::{Core, Done, ballot};
use crate::instruction::{Instruction, Run};
use crate::operand::EXEC;
use crate::wave::Lane;

const LESS: u32 = 1;
const EQUAL: u32 = 2;
const GREATER: u32 = 4;
/// The outcome of a comparison if one of the two values is no number (NaN).
const UNORDERED: u32 = 8;

/// Finds comparisons such as `v_cmp_lt_f32`, `v_cmpx_gt_u32` and `v_cmp_class_f32`.
pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    let (writes_exec, rest) = match name.strip_prefix("v_cmpx_") {
        Some(rest) => (true, rest),
        None => (false, name.strip_prefix("v_cmp_")?),
    };
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
    let all = LESS | EQUAL | GREATER | UNORDERED;
    let accepted = match relation {
        "class" | "f" => 0,
        "lt" => LESS,
        "eq" => EQUAL,
        "le" => LESS | EQUAL,
        "gt" => GREATER,
        "lg" | "ne" => LESS | GREATER,
        "ge" => GREATER | EQUAL,
        "o" => all - UNORDERED,
        "u" => UNORDERED,
        "nge" => all - GREATER - EQUAL,
        "nlg" => all - LESS - GREATER,
        "ngt" => all - GREATER,
        "nle" => all - LESS - EQUAL,
        "neq" => all - EQUAL,
        "nlt" => all - LESS,
        "t" | "tru" => all,
        _ => return None,
    };
    let mut entry = Entry::new(run, 1, 3);
    entry.extra = [accepted, u32::from(writes_exec), 0, 0];
    Some(entry)
}

fn write(c: &mut Core<'_>, i: &Instruction, mask: u64) -> Done {
    if i.extra[1] == 1 {
        c.wave.set_exec(mask);
    }
    if i.operands[0].index != EXEC {
        c.wave.set_mask(&i.operands[0], mask);
    }
    Ok(())
}

fn compare<const N: usize, T: Lane + PartialOrd>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [a, b] = [1, 2].map(|at| T::read::<N>(c.wave, &i.operands[at]));
    let accepted = i.extra[0];
    let mask = ballot::<N>(c.wave, |lane| {
        let (a, b) = (a[lane], b[lane]);
        let [less, equal, greater] = [a < b, a == b, a > b].map(u32::from);
        let ordered = less | equal | greater;
        let relation =
            (less * LESS) | (equal * EQUAL) | (greater * GREATER) | ((1 - ordered) * UNORDERED);
        relation & accepted != 0
    });
    write(c, i, mask)
}

/// A lane's value that can tell its kind of number, one bit per kind.
trait Class: Lane {
    fn class(self) -> u32;
}

macro_rules! class {
    ($float:ty, $quiet:expr) => {
        impl Class for $float {
            fn class(self) -> u32 {
                use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
                let pair = |negative: u32, positive: u32| {
                    1 << if self.is_sign_negative() {
                        negative
                    } else {
                        positive
                    }
                };
                match self.classify() {
                    Nan => 1 << u32::from(self.to_bits() & $quiet != 0),
                    Infinite => pair(2, 9),
                    Normal => pair(3, 8),
                    Subnormal => pair(4, 7),
                    Zero => pair(5, 6),
                }
            }
        }
    };
}
class!(f32, 1 << 22);
class!(f64, 1 << 51);

fn class<const N: usize, F: Class>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let value = F::read::<N>(c.wave, &i.operands[1]);
    let wanted = u32::read::<N>(c.wave, &i.operands[2]);
    let mask = ballot::<N>(c.wave, |lane| value[lane].class() & wanted[lane] != 0);
    write(c, i, mask)
}
