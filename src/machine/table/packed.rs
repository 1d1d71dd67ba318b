//! Instructions on two f32 values in a pair of registers, and on two 16-bit values in one register.

use super::Entry;
use super::vector::{fma_lanes, maximum, minimum};
use crate::core::{Core, Outcome};
use crate::instruction::{Instruction, Run};
use crate::operand::{Kind, Operand};
use crate::wave::{Half, Lane};

pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    let (run, sources): (Run, usize) = match name.strip_prefix("v_pk_")? {
        "fma_f32" => (fma::<N>, 3),
        "mul_f32" => (|c, i| floats::<N>(c, i, |a, b| a * b), 2),
        "add_f32" => (|c, i| floats::<N>(c, i, |a, b| a + b), 2),
        "mov_b32" => (move_pair::<N>, 2),
        "add_f16" => (|c, i| halves::<N>(c, i, |a, b, _| a + b), 2),
        "mul_f16" => (|c, i| halves::<N>(c, i, |a, b, _| a * b), 2),
        "max_f16" => (|c, i| halves::<N>(c, i, |a, b, _| maximum(a, b)), 2),
        "min_f16" => (|c, i| halves::<N>(c, i, |a, b, _| minimum(a, b)), 2),
        "fma_f16" => (|c, i| halves::<N>(c, i, f32::mul_add), 3),
        _ => return None,
    };
    Some(Entry::new(run, 1, 1 + sources))
}

/// Returns the words of source `at` that make the lower or the upper result, in `copy` if they are not a row of
/// registers as it is.
#[inline(always)]
fn words<'a, const N: usize>(
    c: &'a Core<'_>,
    i: &Instruction,
    (at, half): (usize, usize),
    copy: &'a mut [u32; N],
) -> &'a [u32; N] {
    let operand = &i.operands[1 + at];
    let flip = (i.extra[2 + half] >> at & 1) << 31;
    let word = word_of(operand, i.extra[half] >> at);
    if flip == 0
        && let Some(row) = c.wave.plain_row(&operand.after(word))
    {
        return row;
    }
    *copy = c.wave.row::<N>(operand, word);
    for word in copy.iter_mut() {
        *word ^= flip;
    }
    copy
}

/// Returns the index of the word for a half. A constant has one word for both halves.
fn word_of(operand: &Operand, high: u32) -> u16 {
    u16::from(high & 1 == 1 && operand.kind != Kind::Constant)
}

fn put_pair<const N: usize>(c: &mut Core<'_>, i: &Instruction, results: &[[u32; N]; 2]) -> Outcome {
    for (half, result) in (0..).zip(results) {
        c.wave.write_row(&i.operands[0], half, result);
    }
    Ok(())
}

#[inline(always)]
fn floats<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    f: impl Fn(f32, f32) -> f32,
) -> Outcome {
    let (mut results, mut copies) = ([[0; N]; 2], [[0; N]; 2]);
    for (half, result) in results.iter_mut().enumerate() {
        let [x, y] = &mut copies;
        let a = words::<N>(c, i, (0, half), x);
        let b = words::<N>(c, i, (1, half), y);
        for lane in 0..N {
            result[lane] = f(f32::from_bits(a[lane]), f32::from_bits(b[lane])).to_bits();
        }
    }
    put_pair(c, i, &results)
}

fn fma<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let (mut results, mut copies) = ([[0; N]; 2], [[0; N]; 3]);
    for (half, result) in results.iter_mut().enumerate() {
        let [x, y, z] = &mut copies;
        fma_lanes(
            words(c, i, (0, half), x),
            words(c, i, (1, half), y),
            words(c, i, (2, half), z),
            result,
        );
    }
    put_pair(c, i, &results)
}

/// Takes the lower half from the first source's word, and the upper half from the second's.
fn move_pair<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let words = [0, 1].map(|at| {
        let operand = &i.operands[1 + at];
        c.wave.row::<N>(operand, word_of(operand, i.extra[0] >> at))
    });
    put_pair(c, i, &words)
}

fn halves<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    f: impl Fn(f32, f32, f32) -> f32,
) -> Outcome {
    let sources = i.operands[1..].iter();
    let sources: Vec<[u32; N]> = sources.map(|one| u32::read::<N>(c.wave, one)).collect();
    let value = |at: usize, result: usize, lane: usize| {
        let Some(words) = sources.get(at) else {
            return 0.0;
        };
        let high = word_of(&i.operands[1 + at], i.extra[result] >> at);
        let half = Half::from_words(u64::from(words[lane] >> (16 * high))).0;
        let is_negated = i.extra[2 + result] >> at & 1 == 1;
        if is_negated { -half } else { half }
    };
    u32::write::<N>(c.wave, &i.operands[0], |lane| {
        let [low, high] = [0, 1].map(|result| {
            let [x, y, z] = [0, 1, 2].map(|at| value(at, result, lane));
            Half(f(x, y, z)).words() as u32
        });
        low | high << 16
    });
    Ok(())
}
