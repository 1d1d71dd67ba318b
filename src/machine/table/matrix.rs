//! Products of small matrices across a wave: MFMA on CDNA, WMMA on RDNA. Sums run along k from low to high, and each
//! step is fused. AMD does not document the order of its hardware.

use super::Entry;
use crate::core::{Core, Done};
use crate::float;
use crate::instruction::Instruction;

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
    if let Some(kind) = name.strip_prefix("v_wmma_f32_16x16x16_") {
        let element = match kind {
            "bf16" => 2,
            "f16" => 3,
            _ => return None,
        };
        return (N == 32).then(|| Entry::new(wmma, 1, 4).with(element));
    }
    let rest = name.strip_prefix("v_mfma_f32_")?;
    let (side, rest) = rest.split_once('x')?;
    let (same, rest) = rest.split_once('x')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (depth, kind) = rest.split_at(digits);
    let element = match kind.trim_start_matches('_') {
        "f32" => 0,
        "xf32" => 1,
        "bf16" | "bf16_1k" => 2,
        "f16" => 3,
        _ => return None,
    };
    let (side, depth): (u32, u32) = (side.parse().ok()?, depth.parse().ok()?);
    // One block has 16 or 32 rows, so that 64 lanes hold each matrix once.
    let is_one_block = matches!((side, depth), (16, 4 | 8 | 16 | 32) | (32, 2 | 4 | 8 | 16));
    if !is_one_block || same.parse() != Ok(side) || N != 64 {
        return None;
    }
    let mut entry = Entry::new(mfma, 1, 4);
    entry.extra = [element, side, depth, 0];
    Some(entry)
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

fn accumulator(c: &Core<'_>, i: &Instruction, lane: usize, register: usize) -> f32 {
    let operand = &i.operands[3];
    f32::from_bits(match operand.kind {
        crate::operand::Kind::Vector => c.wave.vector(operand.index + register as u16)[lane],
        _ => operand.value as u32,
    })
}

/// Computes an MFMA product. A lane holds a part of row `lane % side` of the first matrix and of column `lane % side`
/// of the second; higher lanes hold the next elements along k. A lane's results are in column `lane % side`, in groups
/// of four rows.
fn mfma(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [kind, side, depth, _] = i.extra.map(|n| n as usize);
    let kind = ELEMENTS[kind];
    let groups = 64 / side;
    let each = depth / groups;
    let matrix = |operand: usize| -> Vec<f32> {
        let places = (0..side).flat_map(|row| (0..depth).map(move |k| (row, k)));
        places
            .map(|(row, k)| element(c, i, operand, row + side * (k / each), k % each, kind))
            .collect()
    };
    let (a, b) = (matrix(1), matrix(2));
    let registers = side * side / 64;
    let mut results = vec![[0_u32; 64]; registers];
    for (register, result) in results.iter_mut().enumerate() {
        for (lane, word) in result.iter_mut().enumerate() {
            let row = register / 4 * (4 * groups) + lane / side * 4 + register % 4;
            let (a, b) = (
                &a[row * depth..][..depth],
                &b[lane % side * depth..][..depth],
            );
            *word = dot(a, b, accumulator(c, i, lane, register)).to_bits();
        }
    }
    for (register, result) in results.iter().enumerate() {
        // All lanes take part, even those that EXEC excludes.
        c.wave
            .vector_mut(i.operands[0].index + register as u16)
            .copy_from_slice(result);
    }
    Ok(())
}

fn dot(a: &[f32], b: &[f32], start: f32) -> f32 {
    a.iter().zip(b).fold(start, |sum, (a, b)| {
        let (value, is_unsure) = float::fma_fast(*a, *b, sum);
        if is_unsure { a.mul_add(*b, sum) } else { value }
    })
}

/// Computes a WMMA product. Each lane of the lower half holds all 16 elements of a row of the first matrix and of a
/// column of the second. Results are in column `lane % 16`: even rows in the lower half, odd rows in the upper.
fn wmma(c: &mut Core<'_>, i: &Instruction) -> Done {
    let kind = ELEMENTS[i.extra[0] as usize & 3];
    let matrix = |operand: usize| -> Vec<f32> {
        let places = (0..16).flat_map(|lane| (0..16).map(move |k| (lane, k)));
        places
            .map(|(lane, k)| element(c, i, operand, lane, k, kind))
            .collect()
    };
    let (a, b) = (matrix(1), matrix(2));
    let mut results = [[0_u32; 32]; 8];
    for (register, result) in results.iter_mut().enumerate() {
        for (lane, word) in result.iter_mut().enumerate() {
            let row = 2 * register + lane / 16;
            let (a, b) = (&a[row * 16..][..16], &b[lane % 16 * 16..][..16]);
            *word = dot(a, b, accumulator(c, i, lane, register)).to_bits();
        }
    }
    for (register, result) in results.iter().enumerate() {
        c.wave
            .vector_mut(i.operands[0].index + register as u16)
            .copy_from_slice(result);
    }
    Ok(())
}
