//! Instructions on two f32 values in a pair of registers, and on two 16-bit values in one register.

use super::Entry;
use super::vector::fma_lanes;
use crate::core::{Core, Done};
use crate::float;
use crate::instruction::{Instruction, Run};
use crate::operand::{Kind, Operand};
use crate::wave::Lane;

pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    let pair = |run: Run, sources: usize| Some(Entry::new(run, 1, 1 + sources));
    match name {
        "v_pk_fma_f32" => pair(fma::<N>, 3),
        "v_pk_mul_f32" => pair(|c, i| floats::<N>(c, i, |a, b| a * b), 2),
        "v_pk_add_f32" => pair(|c, i| floats::<N>(c, i, |a, b| a + b), 2),
        "v_pk_mov_b32" => pair(move_pair::<N>, 2),
        "v_pk_add_f16" => pair(|c, i| halves::<N>(c, i, |a, b, _| a + b), 2),
        "v_pk_mul_f16" => pair(|c, i| halves::<N>(c, i, |a, b, _| a * b), 2),
        "v_pk_max_f16" => pair(|c, i| halves::<N>(c, i, |a, b, _| a.max(b)), 2),
        "v_pk_min_f16" => pair(|c, i| halves::<N>(c, i, |a, b, _| a.min(b)), 2),
        "v_pk_fma_f16" => pair(
            |c, i| {
                halves::<N>(c, i, |a, b, c| {
                    (f64::from(a) * f64::from(b) + f64::from(c)) as f32
                })
            },
            3,
        ),
        _ => None,
    }
}

/// Returns the words of source `at` that make the lower and the upper result.
fn words<const N: usize>(c: &Core<'_>, i: &Instruction, at: usize) -> [[f32; N]; 2] {
    let operand = &i.operands[1 + at];
    let mut both = [[0.0; N]; 2];
    for (result, floats) in both.iter_mut().enumerate() {
        let high = i.extra[result] >> at & 1 == 1;
        let flip = (i.extra[2 + result] >> at & 1) << 31;
        let word = c.wave.row::<N>(operand, word_of(operand, high));
        for lane in 0..N {
            floats[lane] = f32::from_bits(word[lane] ^ flip);
        }
    }
    both
}

/// Returns the index of the word for a half. A constant has one word for both halves.
fn word_of(operand: &Operand, high: bool) -> u16 {
    u16::from(high && operand.kind != Kind::Constant)
}

#[inline(always)]
fn floats<const N: usize>(c: &mut Core<'_>, i: &Instruction, f: impl Fn(f32, f32) -> f32) -> Done {
    let [a, b] = [0, 1].map(|at| words::<N>(c, i, at));
    let mut results = [[0; N]; 2];
    for (half, result) in results.iter_mut().enumerate() {
        for lane in 0..N {
            result[lane] = f(a[half][lane], b[half][lane]).to_bits();
        }
    }
    put_pair(c, i, &results)
}

fn put_pair<const N: usize>(c: &mut Core<'_>, i: &Instruction, results: &[[u32; N]; 2]) -> Done {
    for (half, result) in (0..).zip(results) {
        c.wave.write_row(&i.operands[0], half, result);
    }
    Ok(())
}

fn fma<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [x, y, z] = [0, 1, 2].map(|at| words::<N>(c, i, at));
    let results = [0, 1].map(|half| fma_lanes(&x[half], &y[half], &z[half]).map(f32::to_bits));
    put_pair(c, i, &results)
}

/// Takes the lower half from the first source's word, and the upper half from the second's.
fn move_pair<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let word = |at: usize| {
        let operand = &i.operands[1 + at];
        c.wave
            .row::<N>(operand, word_of(operand, i.extra[0] >> at & 1 == 1))
    };
    let words = [word(0), word(1)];
    put_pair(c, i, &words)
}

fn halves<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    f: impl Fn(f32, f32, f32) -> f32,
) -> Done {
    let sources: Vec<[u32; N]> = i.operands[1..]
        .iter()
        .map(|operand| u32::read::<N>(c.wave, operand))
        .collect();
    let value = |at: usize, result: usize, lane: usize| {
        let Some(words) = sources.get(at) else {
            return 0.0;
        };
        let high = i.extra[result] >> at & 1 == 1 && i.operands[1 + at].kind != Kind::Constant;
        let half = float::from_half((words[lane] >> if high { 16 } else { 0 }) as u16);
        if i.extra[2 + result] >> at & 1 == 1 {
            -half
        } else {
            half
        }
    };
    let result: [u32; N] = std::array::from_fn(|lane| {
        let [low, high] = [0, 1].map(|result| {
            let sum = f(
                value(0, result, lane),
                value(1, result, lane),
                value(2, result, lane),
            );
            u32::from(float::to_half(sum))
        });
        low | high << 16
    });
    u32::write(c.wave, &i.operands[0], &result);
    Ok(())
}
