//! Global memory, scratch, and loads of scalars.

use super::Entry;
use crate::core::{Core, Done};
use crate::error::Fault;
use crate::instruction::{Atomic, Instruction, MemoryKind, MemoryOp, Space};
use crate::operand::{Kind, Operand};
use crate::wave::Counter;

pub(super) fn find(name: &str) -> Option<Entry> {
    if let Some(words) = name
        .strip_prefix("s_load_")
        .or_else(|| name.strip_prefix("s_buffer_load_"))
    {
        let (memory, _) = element(words)?;
        let mut entry = Entry::new(load_scalars, 1, 3);
        entry.memory = Some(MemoryOp {
            space: Space::Scalar,
            ..memory
        });
        return name.starts_with("s_load_").then_some(entry);
    }
    let (space, rest) = name.split_once('_')?;
    let (kind, rest) = rest.split_once('_')?;
    let mut memory = match kind {
        "load" => element(rest)?.0,
        "store" => MemoryOp {
            kind: MemoryKind::Store,
            ..element(rest)?.0
        },
        "atomic" => {
            let (atomic, bytes) = atomic(rest)?;
            MemoryOp {
                kind: MemoryKind::Atomic(atomic),
                bytes,
                ..element("dword")?.0
            }
        }
        _ => return None,
    };
    let operands = match space {
        "global" => 3,
        "flat" => 2,
        "scratch" => 3,
        "buffer" => 4,
        _ => return None,
    };
    memory.flat = space == "flat";
    // HIP compilers use buffer instructions only for private memory.
    memory.buffer = space == "buffer";
    if matches!(space, "scratch" | "buffer") {
        memory.space = Space::Scratch;
        if kind == "atomic" {
            return None;
        }
    }
    let mut entry = Entry::new(run, u8::from(kind == "load"), operands);
    entry.memory = Some(memory);
    Some(entry)
}

/// Finds the size of one element, by either family's name.
pub(super) fn element(name: &str) -> Option<(MemoryOp, &str)> {
    let upper = name.contains("d16_hi");
    let half = name.contains("d16").then_some(upper);
    let plain = name
        .trim_start_matches("d16_hi_")
        .trim_start_matches("d16_");
    let plain = plain.trim_end_matches("_d16_hi").trim_end_matches("_d16");
    let (bytes, signed) = match plain {
        "ubyte" | "u8" | "byte" | "b8" => (1, false),
        "sbyte" | "i8" => (1, true),
        "ushort" | "u16" | "short" | "b16" => (2, false),
        "sshort" | "i16" => (2, true),
        "dword" | "b32" => (4, false),
        "dwordx2" | "b64" => (8, false),
        "dwordx3" | "b96" => (12, false),
        "dwordx4" | "b128" => (16, false),
        "dwordx8" | "b256" => (32, false),
        "dwordx16" | "b512" => (64, false),
        _ => return None,
    };
    let memory = MemoryOp {
        space: Space::Global,
        kind: MemoryKind::Load,
        bytes,
        signed,
        half,
        pair: 0,
        flat: false,
        buffer: false,
    };
    Some((memory, plain))
}

/// Finds an atomic operation and its bytes: `add_x2`, `umax`, `add_f32`, `max_i64`, `cmpswap_b32`.
pub(super) fn atomic(name: &str) -> Option<(Atomic, u8)> {
    let (name, wide) = name
        .strip_suffix("_x2")
        .map_or((name, false), |name| (name, true));
    let (operation, kind) = match name.rsplit_once('_') {
        Some((operation, kind)) if kind.len() == 3 => (operation, kind),
        _ => (name, if wide { "b64" } else { "b32" }),
    };
    let bytes = if kind.ends_with("64") { 8 } else { 4 };
    Some((
        match (operation, kind) {
            ("add", "f32") => Atomic::AddF32,
            ("add", "f64") => Atomic::AddF64,
            ("min", "f32") => Atomic::MinF32,
            ("max", "f32") => Atomic::MaxF32,
            (_, "f32" | "f64" | "f16") => return None,
            ("add", _) => Atomic::Add,
            ("sub", _) => Atomic::Sub,
            ("smin", _) | ("min", "i32" | "i64") => Atomic::SignedMin,
            ("smax", _) | ("max", "i32" | "i64") => Atomic::SignedMax,
            ("umin", _) | ("min", "u32" | "u64") => Atomic::UnsignedMin,
            ("umax", _) | ("max", "u32" | "u64") => Atomic::UnsignedMax,
            ("and", _) => Atomic::And,
            ("or", _) => Atomic::Or,
            ("xor", _) => Atomic::Xor,
            ("swap" | "wrxchg" | "storexchg", _) => Atomic::Swap,
            ("cmpswap" | "cmpst" | "cmpstore", _) => Atomic::CompareSwap,
            _ => return None,
        },
        bytes,
    ))
}

/// Returns the value that an atomic operation stores in place of `old`.
pub(super) fn combine(atomic: Atomic, bytes: u8, old: u64, data: u64, compare: u64) -> u64 {
    let signed = |x: u64| {
        if bytes == 4 {
            i64::from(x as i32)
        } else {
            x.cast_signed()
        }
    };
    let float = |x: u64| f32::from_bits(x as u32);
    match atomic {
        Atomic::Add => old.wrapping_add(data),
        Atomic::Sub => old.wrapping_sub(data),
        Atomic::SignedMin => {
            if signed(data) < signed(old) {
                data
            } else {
                old
            }
        }
        Atomic::SignedMax => {
            if signed(data) > signed(old) {
                data
            } else {
                old
            }
        }
        Atomic::UnsignedMin => old.min(data),
        Atomic::UnsignedMax => old.max(data),
        Atomic::And => old & data,
        Atomic::Or => old | data,
        Atomic::Xor => old ^ data,
        Atomic::Swap => data,
        Atomic::CompareSwap => {
            if old == compare {
                data
            } else {
                old
            }
        }
        Atomic::AddF32 => (float(old) + float(data)).to_bits().into(),
        Atomic::MinF32 => float(old).min(float(data)).to_bits().into(),
        Atomic::MaxF32 => float(old).max(float(data)).to_bits().into(),
        Atomic::AddF64 => (f64::from_bits(old) + f64::from_bits(data)).to_bits(),
    }
}

pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn load_scalars(c: &mut Core<'_>, i: &Instruction) -> Done {
    let Some(memory) = i.memory else {
        return Ok(());
    };
    let [destination, base, offset] = [0, 1, 2].map(|at| &i.operands[at]);
    let offset = match offset.kind {
        Kind::Scalar => u64::from(c.wave.scalar(offset)),
        _ => offset.value,
    };
    let start = c
        .wave
        .scalar64(base)
        .wrapping_add(offset)
        .wrapping_add_signed(i.offsets[0].into());
    let bytes = usize::from(memory.bytes);
    c.note(Space::Scalar, 0, start & !3, bytes, false);
    let loaded = c.memory.load(0, start & !3, bytes)?;
    for (at, word) in loaded.as_chunks::<4>().0.iter().enumerate() {
        let register = Operand {
            index: destination.index + at as u16,
            ..*destination
        };
        c.wave.set_scalar(&register, u32::from_le_bytes(*word));
    }
    c.wave
        .issue(Counter::Scalar, c.wave.pc - 1, Some(destination));
    Ok(())
}

fn run(c: &mut Core<'_>, i: &Instruction) -> Done {
    let Some(memory) = i.memory else {
        return Ok(());
    };
    match c.wave.lanes {
        32 => access::<32>(c, i, &memory)?,
        _ => access::<64>(c, i, &memory)?,
    }
    let pc = c.wave.pc - 1;
    let loads = i.destinations > 0;
    let counter = if loads || !c.program.is_rdna() {
        Counter::Vector
    } else {
        Counter::Store
    };
    c.wave
        .issue(counter, pc, i.operands.first().filter(|_| loads));
    if memory.flat {
        c.wave.issue(Counter::Lds, pc, None);
    }
    Ok(())
}

/// Returns the operands of an access: the address, its base, and the first register of the data.
fn parts<'a>(
    i: &'a Instruction,
    memory: &MemoryOp,
) -> (&'a Operand, Option<&'a Operand>, &'a Operand) {
    let first = usize::from(i.destinations);
    let operand = |at: usize| &i.operands[at];
    match (memory.buffer, memory.kind) {
        (true, _) => (operand(1), Some(operand(3)), operand(0)),
        (_, MemoryKind::Load) => (operand(1), i.operands.get(2), operand(0)),
        _ => (
            operand(first),
            i.operands.get(first + 2),
            operand(first + 1),
        ),
    }
}

fn access<const N: usize>(c: &mut Core<'_>, i: &Instruction, memory: &MemoryOp) -> Done {
    let (address, base, data) = parts(i, memory);
    let base = base.filter(|base| base.kind != Kind::Off && !memory.flat);
    let offset = i64::from(i.offsets[0]);
    let is_scratch = memory.space == Space::Scratch;
    let start = match base {
        // The offset of a buffer counts bytes of the whole wave, and its 64 lanes share them equally.
        Some(base) if memory.buffer => u64::from(c.wave.scalar(base)) / 64,
        Some(base) if is_scratch => u64::from(c.wave.scalar(base)),
        Some(base) => c.wave.scalar64(base),
        None => 0,
    };
    let mut addresses = [start.wrapping_add_signed(offset); N];
    if address.kind != Kind::Off {
        let is_short = base.is_some() || is_scratch;
        let low = c.wave.row::<N>(address, 0);
        let high = if is_short {
            [0; N]
        } else {
            c.wave.row::<N>(address, 1)
        };
        for lane in 0..N {
            let at = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            addresses[lane] = addresses[lane].wrapping_add(at);
        }
    }
    let exec = c.wave.exec();
    let bytes = usize::from(memory.bytes);
    let mut loaded = Loaded::<N>::default();
    for (lane, address) in addresses
        .iter()
        .enumerate()
        .filter(|(lane, _)| exec >> lane & 1 == 1)
    {
        c.note(
            memory.space,
            lane,
            *address,
            bytes,
            memory.kind != MemoryKind::Load,
        );
        match memory.kind {
            MemoryKind::Load => {
                let value = match is_scratch {
                    true => scratch(c, lane, *address, bytes)?,
                    false => c.memory.load(lane, *address, bytes)?,
                };
                loaded.set(memory, lane, value);
            }
            MemoryKind::Store => {
                let value = get(c, data, memory, lane);
                let place = match is_scratch {
                    true => scratch(c, lane, *address, bytes)?,
                    false => c.memory.store(lane, *address, bytes)?,
                };
                place.copy_from_slice(&value[..bytes]);
            }
            MemoryKind::Atomic(atomic) => {
                let value = get(
                    c,
                    data,
                    &MemoryOp {
                        bytes: memory.bytes * 2,
                        ..*memory
                    },
                    lane,
                );
                let (operand, compare) =
                    (number(&value[..bytes]), number(&value[bytes..2 * bytes]));
                let place = c.memory.store(lane, *address, bytes)?;
                loaded.set(memory, lane, place);
                let new = combine(atomic, memory.bytes, number(place), operand, compare);
                place.copy_from_slice(&new.to_le_bytes()[..bytes]);
            }
        }
    }
    if i.destinations > 0 {
        loaded.put(c, &i.operands[0], memory);
    }
    Ok(())
}

fn scratch<'a>(
    c: &'a mut Core<'_>,
    lane: usize,
    address: u64,
    bytes: usize,
) -> Result<&'a mut [u8], Box<Fault>> {
    let length = c.wave.scratch.len() / c.wave.lanes;
    let offset = address as u32 as usize;
    if offset + bytes > length {
        let buffer = "a lane's private memory".into();
        let offset = offset as i64;
        return Err(Box::new(Fault::OutOfBounds {
            what: "an access",
            buffer,
            lane,
            offset,
            length,
            bytes,
        }));
    }
    let start = lane * length + offset;
    Ok(&mut c.wave.scratch[start..start + bytes])
}

/// The loaded values of all lanes, before they go into registers.
pub(super) struct Loaded<const N: usize>([[u32; N]; 4]);

impl<const N: usize> Default for Loaded<N> {
    fn default() -> Loaded<N> {
        Loaded([[0; N]; 4])
    }
}

impl<const N: usize> Loaded<N> {
    #[inline]
    pub fn set(&mut self, memory: &MemoryOp, lane: usize, bytes: &[u8]) {
        if let &[low, ref rest @ ..] = bytes
            && rest.len() < 3
        {
            let word = u32::from(low) | u32::from(rest.first().copied().unwrap_or(0)) << 8;
            let unused = 32 - 8 * bytes.len() as u32;
            let signed = ((word << unused).cast_signed() >> unused).cast_unsigned();
            self.0[0][lane] = if memory.signed { signed } else { word };
            return;
        }
        for (row, word) in self.0.iter_mut().zip(bytes.as_chunks::<4>().0) {
            row[lane] = u32::from_le_bytes(*word);
        }
    }

    /// Gives every lane the same value.
    pub fn fill(&mut self, bytes: &[u8]) {
        for (row, word) in self.0.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *row = [u32::from_le_bytes(*word); N];
        }
    }

    /// Writes the values into the registers of the lanes in EXEC.
    pub fn put(&self, c: &mut Core<'_>, data: &Operand, memory: &MemoryOp) {
        for (at, row) in self.0[..usize::from(memory.bytes).div_ceil(4)]
            .iter()
            .enumerate()
        {
            let Some(upper) = memory.half else {
                c.wave.write_row(data, at as u16, row);
                continue;
            };
            let mut merged = c.wave.row::<N>(data, 0);
            for (old, new) in merged.iter_mut().zip(row) {
                *old = if upper {
                    *old & 0xffff | new << 16
                } else {
                    *old & 0xffff_0000 | new & 0xffff
                };
            }
            c.wave.write_row(data, 0, &merged);
        }
    }
}

/// Returns a lane's registers as the bytes that are stored.
pub(super) fn get(c: &Core<'_>, data: &Operand, memory: &MemoryOp, lane: usize) -> [u8; 16] {
    let mut value = [0; 16];
    let words = usize::from(data.width)
        .min(4)
        .min(usize::from(memory.bytes).div_ceil(4));
    for at in 0..words {
        let mut word = c.wave.vector(data.index + at as u16)[lane];
        if memory.half == Some(true) {
            word >>= 16;
        }
        value[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
    }
    value
}
