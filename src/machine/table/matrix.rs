//! Products of small matrices across a wave: MFMA on CDNA, WMMA on RDNA. Sums run along k from low to high, and each
//! step is fused. AMD does not document the order of its hardware.

use super::Entry;
use crate::core::{Core, Outcome};
use crate::float;
use crate::instruction::{Group, Instruction};
use crate::operand::Kind;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    F32,
    Xf32,
    Bf16,
    F16,
}

const ELEMENTS: [Element; 4] = [Element::F32, Element::Xf32, Element::Bf16, Element::F16];

/// Finds instructions such as `v_mfma_f32_16x16x4_f32`, `v_mfma_f32_16x16x16bf16_1k` and `v_wmma_f32_16x16x16_bf16`.
pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    let (rest, is_wmma) = match name.strip_prefix("v_wmma_f32_") {
        Some(rest) => (rest, true),
        None => (name.strip_prefix("v_mfma_f32_")?, false),
    };
    let (side, rest) = rest.split_once('x')?;
    let (same, rest) = rest.split_once('x')?;
    let (depth, kind) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
    let element = match kind.trim_start_matches('_') {
        "f32" => 0,
        "xf32" => 1,
        "bf16" | "bf16_1k" => 2,
        "f16" => 3,
        _ => return None,
    };
    let (side, depth): (u32, u32) = (side.parse().ok()?, depth.parse().ok()?);
    // One block of MFMA has 16 or 32 rows, so that 64 lanes hold each matrix once.
    let is_known = same.parse() == Ok(side)
        && match is_wmma {
            true => N == 32 && element > 1 && (side, depth) == (16, 16),
            false => {
                N == 64 && matches!((side, depth), (16, 4 | 8 | 16 | 32) | (32, 2 | 4 | 8 | 16))
            }
        };
    let entry = Entry::new(if is_wmma { wmma } else { mfma }, 1, 4);
    is_known.then(|| entry.with([element, side, depth, 0]))
}

/// Returns element `at` among those that a lane holds of an operand.
fn element(
    c: &Core<'_>,
    i: &Instruction,
    operand: usize,
    lane: usize,
    at: usize,
    kind: Element,
) -> f32 {
    let operand = &i.operands[operand];
    let word = |row: usize| c.wave.vector(operand.index + row as u16)[lane];
    let half = |at: usize| (word(at / 2) >> (16 * (at % 2))) as u16;
    match kind {
        Element::F32 => f32::from_bits(word(at)),
        Element::Xf32 => float::to_xf32(f32::from_bits(word(at))),
        Element::Bf16 => float::from_bf16(half(at)),
        Element::F16 => float::from_half(half(at)),
    }
}

/// Computes an MFMA product. A lane holds a part of row `lane % side` of the first matrix and of column `lane % side`
/// of the second; higher lanes hold the next elements along k. A lane's results are in column `lane % side`, in groups
/// of four rows.
fn mfma(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let side = i.extra[1] as usize;
    let each = i.extra[2] as usize * side / 64;
    let place = |row: usize, k: usize| (row + side * (k / each), k % each);
    multiply::<64>(c, i, side * side / 64, place, |register, lane| {
        mfma_row(side, register, lane)
    });
    Ok(())
}

fn mfma_row(side: usize, register: usize, lane: usize) -> usize {
    register / 4 * (256 / side) + lane / side * 4 + register % 4
}

/// Returns whether both halves of the wave hold different elements of the factors, as on RDNA 4. On RDNA 3 both hold all.
fn is_split(i: &Instruction) -> bool {
    i.operands[1].width == 4
}

fn wmma_row(is_split: bool, register: usize, lane: usize) -> usize {
    match is_split {
        true => register + lane / 16 * 8,
        false => 2 * register + lane / 16,
    }
}

/// The elements of the factors a and b and of the result that one lane holds for a matrix instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixPart {
    /// Row of a. It is also the column of b and of the result.
    pub side: usize,
    /// Columns of a and rows of b.
    pub depth: Vec<usize>,
    /// Rows of the result, one for each register.
    pub rows: Vec<usize>,
}

impl Instruction {
    /// Returns what a lane holds for a matrix instruction; `None` for any other instruction.
    pub fn matrix_part(&self, lane: usize) -> Option<MatrixPart> {
        let [_, side, depth, _] = self.extra.map(|n| n as usize);
        let rows = 0..side * side / 64;
        Some(match self.group {
            Group::Matrix if self.name.starts_with("v_wmma") => MatrixPart {
                side: lane % side,
                depth: (0..depth)
                    .filter(|k| !is_split(self) || k / 4 % 2 == lane / 16)
                    .collect(),
                rows: (0..8)
                    .map(|register| wmma_row(is_split(self), register, lane))
                    .collect(),
            },
            Group::Matrix => {
                let each = depth * side / 64;
                MatrixPart {
                    side: lane % side,
                    depth: (lane / side * each..(lane / side + 1) * each).collect(),
                    rows: rows
                        .map(|register| mfma_row(side, register, lane))
                        .collect(),
                }
            }
            _ => return None,
        })
    }
}

/// Computes a WMMA product. Each lane of the lower half holds all 16 elements of a row of the first matrix and of a
/// column of the second. Results are in column `lane % 16`: even rows in the lower half, odd rows in the upper. On RDNA 4
/// fours of elements are in the lower and the upper half by turns, and results are in rows 0 to 7 and 8 to 15.
fn wmma(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let is_split = is_split(i);
    let place = |row: usize, k: usize| match is_split {
        true => (row + k / 4 % 2 * 16, k / 8 * 4 + k % 4),
        false => (row, k),
    };
    multiply::<32>(c, i, 8, place, |register, lane| {
        wmma_row(is_split, register, lane)
    });
    Ok(())
}

/// Multiplies. `place` returns the lane and the index in it of an element of the sources, and `row_of` the row of a
/// lane's result in a register.
fn multiply<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    registers: usize,
    place: impl Fn(usize, usize) -> (usize, usize),
    row_of: impl Fn(usize, usize) -> usize,
) {
    let [kind, side, depth, _] = i.extra.map(|n| n as usize);
    let matrix = |operand: usize| -> Vec<f32> {
        let all = (0..side).flat_map(|row| (0..depth).map(move |k| (row, k)));
        let all = all.map(|(row, k)| place(row, k));
        all.map(|(lane, at)| element(c, i, operand, lane, at, ELEMENTS[kind]))
            .collect()
    };
    let (a, b) = (matrix(1), matrix(2));
    let mut results = vec![[0_u32; N]; registers];
    for (register, result) in results.iter_mut().enumerate() {
        let sums = &i.operands[3];
        // A constant is the same in every register.
        let word = if sums.kind == Kind::Vector {
            register as u16
        } else {
            0
        };
        let start = c.wave.row::<N>(sums, word);
        for lane in 0..N {
            let a = &a[row_of(register, lane) * depth..][..depth];
            let b = &b[lane % side * depth..][..depth];
            let sum = a
                .iter()
                .zip(b)
                .fold(f32::from_bits(start[lane]), |sum, (a, b)| {
                    let (value, is_unsure) = float::fma_fast(*a, *b, sum);
                    if is_unsure { a.mul_add(*b, sum) } else { value }
                });
            result[lane] = sum.to_bits();
        }
    }
    for (register, result) in (0..).zip(&results) {
        // All lanes take part, even those that EXEC excludes.
        let row = c.wave.vector_mut(i.operands[0].index + register);
        row.copy_from_slice(result);
    }
}
