//! Instructions that read other lanes, or choose by lane.

use super::Entry;
use crate::core::{Core, Outcome, unsupported};
use crate::instruction::{Instruction, Run};
use crate::mistake::MistakeKind;
use crate::operand::{Kind, M0, Operand};
use crate::wave::{Counter, Lane};

pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    Some(match name {
        "v_cndmask_b32" => Entry::new(choose::<N>, 1, 4),
        "v_mbcnt_lo_u32_b32" => Entry::new(count_below::<N>, 1, 3).with([0; 4]),
        "v_mbcnt_hi_u32_b32" => Entry::new(count_below::<N>, 1, 3).with([32; 4]),
        "v_readfirstlane_b32" => Entry::new(read_lane, 1, 2),
        "v_readlane_b32" => Entry::new(read_lane, 1, 3),
        "v_writelane_b32" => Entry::new(write_lane, 1, 3),
        "v_permlane16_b32" => Entry::new(permute_rows::<N>, 1, 4).with([0; 4]),
        "v_permlanex16_b32" => Entry::new(permute_rows::<N>, 1, 4).with([16; 4]),
        "v_swap_b32" => Entry::new(swap::<N>, 2, 2),
        "v_movrels_b32" => Entry::new(|c, i| move_indexed::<N>(c, i, true, false), 1, 2),
        "v_movreld_b32" => Entry::new(|c, i| move_indexed::<N>(c, i, false, true), 1, 2),
        "v_movrelsd_b32" => Entry::new(|c, i| move_indexed::<N>(c, i, true, true), 1, 2),
        _ => return None,
    })
}

/// Finds exchanges that go through the hardware of LDS.
pub(super) fn find_exchange<const N: usize>(name: &str) -> Option<Entry> {
    let (run, operands): (Run, usize) = match name {
        "ds_bpermute_b32" => (fetch::<N>, 3),
        "ds_permute_b32" => (send::<N>, 3),
        "ds_swizzle_b32" => (swizzle::<N>, 2),
        _ => return None,
    };
    Some(Entry::new(run, 1, operands))
}

fn read_two<const N: usize>(c: &Core<'_>, i: &Instruction, first: usize) -> [[u32; N]; 2] {
    let read = |at: usize| u32::read::<N>(c.wave, &i.operands[at]);
    [read(first), read(first + 1)]
}

fn choose<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [a, b] = read_two::<N>(c, i, 1);
    let mask = c.wave.mask(&i.operands[3]);
    let chosen = |lane| {
        if mask >> lane & 1 == 1 {
            b[lane]
        } else {
            a[lane]
        }
    };
    u32::write::<N>(c.wave, &i.operands[0], chosen);
    Ok(())
}

/// Counts those bits in half of a mask that belong to lower lanes.
fn count_below<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [mask, start] = read_two::<N>(c, i, 1);
    let first = i.extra[0] as usize;
    u32::write::<N>(c.wave, &i.operands[0], |lane| {
        let below = (1_u64 << lane.saturating_sub(first).min(32)) - 1;
        let count = (mask[lane] & below as u32).count_ones();
        count.wrapping_add(start[lane])
    });
    Ok(())
}

/// Reads the lane that an operand names, or the first one in EXEC.
fn read_lane(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let lane = match i.operands.get(2) {
        Some(lane) => c.wave.scalar(lane),
        None => c.wave.exec().trailing_zeros(),
    };
    let value = c.wave.at_lane(&i.operands[1], lane as usize % c.wave.lanes);
    value.set(c.wave, &i.operands[0]);
    Ok(())
}

/// Writes one lane, even if it is not in EXEC.
fn write_lane(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let value = c.wave.scalar(&i.operands[1]);
    let lane = c.wave.scalar(&i.operands[2]) as usize % c.wave.lanes;
    c.wave.vector_mut(i.operands[0].index)[lane] = value;
    Ok(())
}

/// Fetches within rows of 16 lanes: from the same row, or from its neighbour.
fn permute_rows<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let source = u32::read::<N>(c.wave, &i.operands[1]);
    let [low, high] = [2, 3].map(|at| u64::from(c.wave.scalar(&i.operands[at])));
    let (select, other) = (low | high << 32, i.extra[0] as usize);
    u32::write::<N>(c.wave, &i.operands[0], |lane| {
        let from = (select >> (4 * (lane % 16))) as usize & 15;
        source[(lane & !15 ^ other) + from]
    });
    Ok(())
}

/// Moves a register whose number M0 changes, that of the source or of the destination.
fn move_indexed<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    is_source: bool,
    is_destination: bool,
) -> Outcome {
    let index = c.wave.scalars[usize::from(M0)] & 0xff;
    let moved = |operand: &Operand, is_moved: bool| match is_moved {
        true => operand.after(index as u16),
        false => *operand,
    };
    let from = moved(&i.operands[1], is_source);
    let to = moved(&i.operands[0], is_destination);
    let is_there =
        |operand: &Operand| operand.kind != Kind::Vector || c.wave.vector(operand.index).len() == N;
    if !is_there(&from) || !is_there(&to) {
        return unsupported(format!("there is no register {index} behind the named one"));
    }
    let value = u32::read::<N>(c.wave, &from);
    c.wave.write_row(&to, 0, &value);
    Ok(())
}

fn swap<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [a, b] = read_two::<N>(c, i, 0);
    u32::write::<N>(c.wave, &i.operands[0], |lane| b[lane]);
    u32::write::<N>(c.wave, &i.operands[1], |lane| a[lane]);
    Ok(())
}

/// Ends an exchange. Its result counts as a result of LDS.
fn exchange<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    value: impl Fn(usize) -> u32,
) -> Outcome {
    u32::write::<N>(c.wave, &i.operands[0], value);
    c.issue(Counter::Lds, Some(&i.operands[0]))
}

/// Gives each lane the value of lane `from`, or 0 if EXEC excludes that lane.
fn take<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    data: [u32; N],
    from: impl Fn(usize) -> usize,
) -> Outcome {
    let exec = c.wave.exec();
    let is_on = |lane: usize| exec >> lane & 1;
    let idle = c.wave.active::<N>().find(|lane| is_on(from(*lane)) == 0);
    if let Some(lane) = idle {
        let kind = MistakeKind::IdleLane { lane: from(lane) };
        c.mistake(lane, (3, 0), kind);
    }
    if let Some(access) = c.access.as_deref_mut() {
        let active = (0..N).filter(|lane| is_on(*lane) == 1);
        let taken = active.map(|lane| (lane as u8, from(lane) as u64, is_on(from(lane)) as u8));
        access.elements.extend(taken);
    }
    exchange::<N>(c, i, |lane| data[from(lane)] * is_on(from(lane)) as u32)
}

/// Executes `ds_bpermute_b32`: each lane fetches from the lane that its address names, four bytes a lane.
fn fetch<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [address, data] = read_two::<N>(c, i, 1);
    take::<N>(c, i, data, |lane| {
        (address[lane].wrapping_add_signed(i.offsets[0]) / 4) as usize % N
    })
}

/// Executes `ds_permute_b32`: each lane sends to the lane that its address names. If several send to one lane, it
/// gets the value of the highest sender.
fn send<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [address, data] = read_two::<N>(c, i, 1);
    let mut result = [0; N];
    for lane in c.wave.active::<N>() {
        let to = (address[lane].wrapping_add_signed(i.offsets[0]) / 4) as usize % N;
        result[to] = data[lane];
    }
    exchange::<N>(c, i, |lane| result[lane])
}

/// Executes `ds_swizzle_b32`, a fixed exchange in groups of 4 or of 32 lanes.
fn swizzle<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let data = u32::read::<N>(c.wave, &i.operands[1]);
    let pattern = i.extra[0] as usize;
    take::<N>(c, i, data, |lane| match pattern & 0x8000 {
        0 => lane & !31 | ((lane & 31 & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31),
        _ => lane & !3 | pattern >> (2 * (lane & 3)) & 3,
    })
}
