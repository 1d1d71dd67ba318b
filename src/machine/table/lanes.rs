//! Instructions that read other lanes, or choose by lane.

use super::Entry;
use crate::core::{Core, Done};
use crate::instruction::Instruction;
use crate::wave::Lane;

pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    Some(match name {
        "v_cndmask_b32" => Entry::new(choose::<N>, 1, 4),
        "v_mbcnt_lo_u32_b32" => Entry::new(count_below::<N>, 1, 3).with(0),
        "v_mbcnt_hi_u32_b32" => Entry::new(count_below::<N>, 1, 3).with(32),
        "v_readfirstlane_b32" => Entry::new(read_first, 1, 2),
        "v_readlane_b32" => Entry::new(read_lane, 1, 3),
        "v_writelane_b32" => Entry::new(write_lane, 1, 3),
        "v_permlane16_b32" => Entry::new(permute_rows::<N>, 1, 4).with(0),
        "v_permlanex16_b32" => Entry::new(permute_rows::<N>, 1, 4).with(16),
        "v_swap_b32" => Entry::new(swap::<N>, 2, 2),
        _ => return None,
    })
}

fn choose<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [a, b] = [1, 2].map(|at| u32::read::<N>(c.wave, &i.operands[at]));
    let mask = c.wave.mask(&i.operands[3]);
    let result: [u32; N] = std::array::from_fn(|lane| {
        if mask >> lane & 1 == 1 {
            b[lane]
        } else {
            a[lane]
        }
    });
    u32::write(c.wave, &i.operands[0], &result);
    Ok(())
}

/// Counts those bits in half of a mask that belong to lower lanes.
fn count_below<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [mask, start] = [1, 2].map(|at| u32::read::<N>(c.wave, &i.operands[at]));
    let first = i.extra[0] as usize;
    let result: [u32; N] = std::array::from_fn(|lane| {
        let below = (1_u64 << lane.saturating_sub(first).min(32)) - 1;
        (mask[lane] & below as u32)
            .count_ones()
            .wrapping_add(start[lane])
    });
    u32::write(c.wave, &i.operands[0], &result);
    Ok(())
}

fn read_first(c: &mut Core<'_>, i: &Instruction) -> Done {
    let first = c.wave.exec().trailing_zeros() as usize % 64;
    let first = if c.wave.exec() == 0 { 0 } else { first };
    let value = value_of(c, i, first);
    c.wave.set_scalar(&i.operands[0], value);
    Ok(())
}

fn value_of(c: &Core<'_>, i: &Instruction, lane: usize) -> u32 {
    match i.operands[1].kind {
        crate::operand::Kind::Vector => c.wave.vector(i.operands[1].index)[lane],
        _ => c.wave.scalar(&i.operands[1]),
    }
}

fn read_lane(c: &mut Core<'_>, i: &Instruction) -> Done {
    let lane = c.wave.scalar(&i.operands[2]) as usize % c.wave.lanes;
    let value = value_of(c, i, lane);
    c.wave.set_scalar(&i.operands[0], value);
    Ok(())
}

/// Writes one lane, even if it is not in EXEC.
fn write_lane(c: &mut Core<'_>, i: &Instruction) -> Done {
    let value = c.wave.scalar(&i.operands[1]);
    let lane = c.wave.scalar(&i.operands[2]) as usize % c.wave.lanes;
    c.wave.vector_mut(i.operands[0].index)[lane] = value;
    Ok(())
}

/// Fetches within rows of 16 lanes: from the same row, or from its neighbour.
fn permute_rows<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let source = u32::read::<N>(c.wave, &i.operands[1]);
    let select =
        u64::from(c.wave.scalar(&i.operands[2])) | u64::from(c.wave.scalar(&i.operands[3])) << 32;
    let other = i.extra[0] as usize;
    let result: [u32; N] = std::array::from_fn(|lane| {
        let from = (select >> (4 * (lane % 16))) as usize & 15;
        source[(lane & !15 ^ other) + from]
    });
    u32::write(c.wave, &i.operands[0], &result);
    Ok(())
}

fn swap<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [a, b] = [0, 1].map(|at| u32::read::<N>(c.wave, &i.operands[at]));
    u32::write(c.wave, &i.operands[0], &b);
    u32::write(c.wave, &i.operands[1], &a);
    Ok(())
}
