//! Local memory (LDS), and exchanges between lanes that go through its hardware.

use super::Entry;
use super::memory::{Loaded, atomic, combine, element, get, number};
use crate::core::{Core, Done};
use crate::instruction::{Instruction, MemoryKind, MemoryOp, Space};
use crate::operand::Operand;
use crate::wave::{Counter, Lane};

pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    match name {
        "ds_bpermute_b32" => return Some(Entry::new(fetch::<N>, 1, 3)),
        "ds_permute_b32" => return Some(Entry::new(send::<N>, 1, 3)),
        "ds_swizzle_b32" => return Some(Entry::new(swizzle::<N>, 1, 2)),
        _ => {}
    }
    let (kind, rest) = name
        .strip_prefix("ds_")?
        .split_once('_')
        .unwrap_or_default();
    let base = |words: &str| {
        Some(MemoryOp {
            space: Space::Lds,
            ..element(words)?.0
        })
    };
    // `read2st64_b32` and `load_2addr_stride64_b32` access two elements. Their offsets count elements, or 64 elements
    // each.
    let pair = |words: &str, stride: u16| {
        let memory = base(words)?;
        Some(MemoryOp {
            pair: u16::from(memory.bytes) * stride,
            ..memory
        })
    };
    let loads = |memory: MemoryOp| (memory, 1, 2);
    let stores = |memory: MemoryOp| {
        (
            MemoryOp {
                kind: MemoryKind::Store,
                ..memory
            },
            0,
            2,
        )
    };
    let both = |rest: &str| match rest.strip_prefix("2addr_stride64_") {
        Some(words) => pair(words, 64),
        None => rest
            .strip_prefix("2addr_")
            .map_or_else(|| base(rest), |words| pair(words, 1)),
    };
    let (memory, destinations, operands) = match kind {
        "read" | "load" => loads(both(rest)?),
        "read2" => loads(pair(rest, 1)?),
        "read2st64" => loads(pair(rest, 64)?),
        "write" | "store" => stores(both(rest)?),
        "write2" => stores(pair(rest, 1)?),
        "write2st64" => stores(pair(rest, 64)?),
        _ => {
            let returns = rest.starts_with("rtn_");
            let (kind, bytes) = atomic(&format!("{kind}_{}", rest.trim_start_matches("rtn_")))?;
            let memory = MemoryOp {
                kind: MemoryKind::Atomic(kind),
                bytes,
                ..base("b32")?
            };
            (memory, u8::from(returns), 2 + usize::from(returns))
        }
    };
    let mut entry = Entry::new(access::<N>, destinations, operands);
    // The older name takes the compared value first.
    entry.extra[0] = u32::from(kind == "cmpst");
    entry.memory = Some(memory);
    Some(entry)
}

fn access<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let Some(memory) = i.memory else {
        return Ok(());
    };
    let first = usize::from(i.destinations);
    let base = c.wave.row::<N>(&i.operands[first], 0);
    let stride = i32::from(memory.pair);
    let offsets = if stride == 0 {
        &i.offsets[..1]
    } else {
        &i.offsets[..]
    };
    for (element, offset) in offsets.iter().enumerate() {
        let offset = if stride == 0 {
            *offset
        } else {
            offset * stride
        };
        access_element::<N>(c, i, &memory, element, |lane| {
            base[lane].wrapping_add_signed(offset) as usize
        })?;
    }
    let destination = i.operands.first().filter(|_| i.destinations > 0);
    c.wave.issue(Counter::Lds, c.wave.pc - 1, destination);
    Ok(())
}

/// Accesses the first or the second element of an instruction.
fn access_element<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    memory: &MemoryOp,
    element: usize,
    address: impl Fn(usize) -> usize,
) -> Done {
    let (exec, bytes) = (c.wave.exec(), usize::from(memory.bytes));
    let active = || (0..N).filter(|lane| exec >> lane & 1 == 1);
    if c.access.is_some() {
        for lane in active() {
            c.note(
                Space::Lds,
                lane,
                address(lane) as u64,
                bytes,
                memory.kind != MemoryKind::Load,
            );
        }
    }
    let mut loaded = Loaded::<N>::default();
    match memory.kind {
        MemoryKind::Load => {
            let one = active().next().map(&address);
            // All lanes read one address, so one read is enough.
            let is_same = bytes >= 4 && active().all(|lane| Some(address(lane)) == one);
            for lane in active() {
                let (value, unwritten_error) =
                    c.lds.load(c.program, c.wave, lane, address(lane), bytes)?;
                if is_same {
                    loaded.fill(value);
                } else {
                    loaded.set(memory, lane, value);
                }
                if let Some(access) = c.access.as_deref_mut().filter(|_| unwritten_error) {
                    access.unwritten_error |= if is_same { exec } else { 1 << lane };
                }
                if is_same {
                    break;
                }
            }
        }
        MemoryKind::Store => {
            for lane in active() {
                let value = get(c, &i.operands[1 + element], memory, lane);
                c.lds
                    .store(c.program, c.wave, lane, address(lane), &value[..bytes])?;
            }
        }
        MemoryKind::Atomic(atomic) => {
            let first = usize::from(i.destinations) + 1;
            for lane in active() {
                let data = |at: usize| {
                    let operand = i.operands.get(at);
                    operand.map_or(0, |operand| number(&get(c, operand, memory, lane)[..bytes]))
                };
                let (mut value, mut compare) = (data(first), data(first + 1));
                if i.extra[0] == 1 {
                    std::mem::swap(&mut value, &mut compare);
                }
                let place = c.lds.atomic(lane, address(lane), bytes)?;
                loaded.set(memory, lane, place);
                let new = combine(atomic, memory.bytes, number(place), value, compare);
                place.copy_from_slice(&new.to_le_bytes()[..bytes]);
            }
        }
    }
    if i.destinations > 0 {
        let words = (bytes / 4 * element) as u16;
        let data = Operand {
            index: i.operands[0].index + words,
            ..i.operands[0]
        };
        loaded.put(c, &data, memory);
    }
    Ok(())
}

/// Ends an exchange. Its result counts as a result of LDS.
fn exchanged<const N: usize>(c: &mut Core<'_>, i: &Instruction, result: &[u32; N]) -> Done {
    u32::write(c.wave, &i.operands[0], result);
    c.wave
        .issue(Counter::Lds, c.wave.pc - 1, Some(&i.operands[0]));
    Ok(())
}

/// Executes `ds_bpermute_b32`: each lane fetches from the lane that its address names, four bytes a lane.
fn fetch<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [address, data] = [1, 2].map(|at| u32::read::<N>(c.wave, &i.operands[at]));
    let exec = c.wave.exec();
    let result = std::array::from_fn(|lane| {
        let from = (address[lane].wrapping_add_signed(i.offsets[0]) / 4) as usize % N;
        if exec >> from & 1 == 1 { data[from] } else { 0 }
    });
    exchanged::<N>(c, i, &result)
}

/// Executes `ds_permute_b32`: each lane sends to the lane that its address names. The highest sender wins.
fn send<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [address, data] = [1, 2].map(|at| u32::read::<N>(c.wave, &i.operands[at]));
    let exec = c.wave.exec();
    let mut result = [0; N];
    for lane in (0..N).filter(|lane| exec >> lane & 1 == 1) {
        let to = (address[lane].wrapping_add_signed(i.offsets[0]) / 4) as usize % N;
        result[to] = data[lane];
    }
    exchanged::<N>(c, i, &result)
}

/// Executes `ds_swizzle_b32`, a fixed exchange in groups of 4 or of 32 lanes.
fn swizzle<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Done {
    let data = u32::read::<N>(c.wave, &i.operands[1]);
    let (exec, pattern) = (c.wave.exec(), i.extra[0] as usize);
    let result = std::array::from_fn(|lane| {
        let from = match pattern & 0x8000 {
            0 => lane & !31 | ((lane & 31 & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31),
            _ => lane & !3 | pattern >> (2 * (lane & 3)) & 3,
        };
        if exec >> from & 1 == 1 { data[from] } else { 0 }
    });
    exchanged::<N>(c, i, &result)
}
