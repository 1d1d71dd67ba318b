//! Global memory, LDS, scratch, and loads of scalars.

use super::Entry;
use super::lanes::find_exchange;
use super::places::{Places, Shared};
use crate::core::{Core, Outcome};
use crate::error::Fault;
use crate::instruction::{Atomic, Instruction, MemoryKind, MemoryOp, Run, Space};
use crate::operand::{Kind, Operand};
use crate::wave::{Counter, Lane, Wave};

pub(super) fn find<const N: usize>(name: &str) -> Option<Entry> {
    if let Some(exchange) = find_exchange::<N>(name) {
        return Some(exchange);
    }
    let (space, rest) = name.split_once('_')?;
    let (kind, rest) = rest.split_once('_')?;
    let mut memory = MemoryOp {
        space: Space::Global,
        kind: MemoryKind::Load,
        bytes: 4,
        signed: false,
        half: None,
        pair: 0,
        flat: space == "flat",
        // HIP compilers use buffer instructions only for private memory.
        buffer: space == "buffer",
    };
    let (run, destinations, operands): (Run, u8, usize) = match (space, kind) {
        ("s", "load") => {
            memory.space = Space::Scalar;
            memory.element(rest)?;
            (load_scalars, 1, 3)
        }
        ("ds", _) => {
            memory.space = Space::Lds;
            let results = memory.local(kind, rest)?;
            let operands = if memory.is_atomic() { 2 + results } else { 2 };
            (access::<N>, results, operands.into())
        }
        ("global" | "flat" | "scratch" | "buffer", "load" | "store" | "atomic") => {
            match kind {
                "load" => memory.element(rest)?,
                "store" => {
                    memory.kind = MemoryKind::Store;
                    memory.element(rest)?;
                }
                _ => memory.atomic(rest)?,
            }
            if matches!(space, "scratch" | "buffer") {
                memory.space = Space::Scratch;
            }
            let operands = match space {
                "flat" => 2,
                "buffer" => 4,
                _ => 3,
            };
            (access::<N>, u8::from(kind == "load"), operands)
        }
        _ => return None,
    };
    if memory.space == Space::Scratch && memory.is_atomic() {
        return None;
    }
    let mut entry = Entry::new(run, destinations, operands);
    entry.memory = Some(memory);
    Some(entry)
}

impl MemoryOp {
    /// Reads the size of one element, by either family's name.
    fn element(&mut self, name: &str) -> Option<()> {
        self.half = name.contains("d16").then(|| name.contains("d16_hi"));
        let plain = name
            .trim_start_matches("d16_hi_")
            .trim_start_matches("d16_");
        let plain = plain.trim_end_matches("_d16_hi").trim_end_matches("_d16");
        (self.bytes, self.signed) = match plain {
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
        Some(())
    }

    /// Reads an instruction of LDS, and returns the number of its results. `read2st64_b32` and `load_2addr_stride64_b32`
    /// access two elements; their offsets count elements, or 64 elements each.
    fn local(&mut self, kind: &str, rest: &str) -> Option<u8> {
        let (kind, count) = kind.split_at(kind.find('2').unwrap_or(kind.len()));
        let (count, words) = match rest.strip_prefix("2addr_") {
            Some(rest) => rest
                .strip_prefix("stride64_")
                .map_or(("2", rest), |rest| ("2st64", rest)),
            None => (count, rest),
        };
        match kind {
            "read" | "load" => self.element(words)?,
            "write" | "store" => {
                self.kind = MemoryKind::Store;
                self.element(words)?;
            }
            _ => {
                self.atomic(&format!("{kind}_{}", words.trim_start_matches("rtn_")))?;
                return Some(u8::from(words.starts_with("rtn_")));
            }
        }
        self.pair = match count {
            "2" => self.bytes.into(),
            "2st64" => u16::from(self.bytes) * 64,
            _ => 0,
        };
        Some(u8::from(!self.stores()))
    }

    /// Reads an atomic operation: `add_x2`, `umax`, `add_f32`, `max_i64`, `cmpswap_b32`.
    fn atomic(&mut self, name: &str) -> Option<()> {
        let (name, kind) = match name.rsplit_once('_') {
            Some((operation, "x2")) => (operation, "b64"),
            Some((operation, kind)) if kind.len() == 3 => (operation, kind),
            _ => (name, "b32"),
        };
        let operation: Atomic = match (name, kind) {
            ("add", "f32") => |old, data, _| of::<f32>(old, data, |a, b| a + b),
            ("min", "f32") => |old, data, _| of(old, data, f32::min),
            ("max", "f32") => |old, data, _| of(old, data, f32::max),
            ("add", "f64") => |old, data, _| of::<f64>(old, data, |a, b| a + b),
            (_, "f32" | "f64" | "f16") => return None,
            ("add", _) => |old, data, _| old.wrapping_add(data),
            ("sub", _) => |old, data, _| old.wrapping_sub(data),
            ("smin", "b32") | ("min", "i32") => |old, data, _| of(old, data, i32::min),
            ("smax", "b32") | ("max", "i32") => |old, data, _| of(old, data, i32::max),
            ("smin", _) | ("min", "i64") => |old, data, _| of(old, data, i64::min),
            ("smax", _) | ("max", "i64") => |old, data, _| of(old, data, i64::max),
            ("umin", _) | ("min", "u32" | "u64") => |old, data, _| old.min(data),
            ("umax", _) | ("max", "u32" | "u64") => |old, data, _| old.max(data),
            ("and", _) => |old, data, _| old & data,
            ("or", _) => |old, data, _| old | data,
            ("xor", _) => |old, data, _| old ^ data,
            ("swap" | "wrxchg" | "storexchg", _) => |_, data, _| data,
            ("cmpswap" | "cmpstore", _) => {
                |old, data, compare| if old == compare { data } else { old }
            }
            // The older name takes the compared value first.
            ("cmpst", _) => |old, compare, data| if old == compare { data } else { old },
            _ => return None,
        };
        self.kind = MemoryKind::Atomic(operation);
        self.bytes = if kind.ends_with("64") { 8 } else { 4 };
        Some(())
    }
}

fn of<T: Lane>(old: u64, data: u64, f: impl Fn(T, T) -> T) -> u64 {
    f(T::from_words(old), T::from_words(data)).words()
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn load_scalars(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let Some(memory) = i.memory else {
        return Ok(());
    };
    let [destination, base, offset] = [0, 1, 2].map(|at| &i.operands[at]);
    let offset = match offset.kind {
        Kind::Scalar => u64::from(c.wave.scalar(offset)),
        _ => offset.value,
    };
    let start = c.wave.scalar64(base).wrapping_add(offset);
    let start = start.wrapping_add_signed(i.offsets[0].into()) & !3;
    let bytes = usize::from(memory.bytes);
    if let Some(access) = c.access.as_deref_mut() {
        access.note(&memory, 0, start);
    }
    let loaded = c.memory.load(0, start, bytes)?;
    for (at, word) in (0..).zip(loaded.as_chunks::<4>().0) {
        u32::from_le_bytes(*word).set(c.wave, &destination.after(at));
    }
    c.issue(Counter::Scalar, Some(destination))
}

/// The operands of an access: the address, its base, and the first register of the data.
fn parts<'a>(
    i: &'a Instruction,
    memory: &MemoryOp,
) -> (&'a Operand, Option<&'a Operand>, &'a Operand) {
    let first = usize::from(i.destinations);
    let operand = |at: usize| &i.operands[at];
    let loads = !memory.stores();
    match memory.space {
        _ if memory.buffer => (operand(1), Some(operand(3)), operand(0)),
        Space::Lds => (
            operand(first),
            None,
            i.operands.get(first + 1).unwrap_or(operand(0)),
        ),
        _ if loads => (operand(1), i.operands.get(2), operand(0)),
        _ => (
            operand(first),
            i.operands.get(first + 2),
            operand(first + 1),
        ),
    }
}

fn access<const N: usize>(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let Some(memory) = &i.memory else {
        return Ok(());
    };
    let (address, base, data) = parts(i, memory);
    let base = base.filter(|base| base.kind != Kind::Off && !memory.flat);
    let is_local = memory.space != Space::Global;
    let start = match base {
        // The offset of a buffer counts bytes of the whole wave, and its 64 lanes share them equally.
        Some(base) if memory.buffer => u64::from(c.wave.scalar(base)) / 64,
        Some(base) if is_local => u64::from(c.wave.scalar(base)),
        Some(base) => c.wave.scalar64(base),
        None => 0,
    };
    // Addresses of LDS and scratch have 32 bits.
    let mask = if is_local { u32::MAX.into() } else { u64::MAX };
    let mut places = Places {
        start,
        low: [0; N],
        high: [0; N],
        mask,
    };
    if address.kind != Kind::Off {
        places.low = c.wave.row::<N>(address, 0);
        if base.is_none() && !is_local {
            places.high = c.wave.row::<N>(address, 1);
        }
    }
    let unit = i64::from(memory.pair.max(1));
    let elements = if memory.pair > 0 { 2 } else { 1 };
    for (element, offset) in i.offsets[..elements].iter().enumerate() {
        places.start = start.wrapping_add_signed(i64::from(*offset) * unit);
        let words = u16::from(memory.bytes / 4) * element as u16;
        // The second element of a store is an operand of its own.
        let second = i.operands.get(usize::from(i.destinations) + 2);
        let data = match memory.kind {
            MemoryKind::Load => data.after(words),
            _ => *second.filter(|_| element == 1).unwrap_or(data),
        };
        match memory.bytes {
            1 => access_element::<N, 1>(c, i, memory, &places, &data)?,
            2 => access_element::<N, 2>(c, i, memory, &places, &data)?,
            4 => access_element::<N, 4>(c, i, memory, &places, &data)?,
            8 => access_element::<N, 8>(c, i, memory, &places, &data)?,
            12 => access_element::<N, 12>(c, i, memory, &places, &data)?,
            _ => access_element::<N, 16>(c, i, memory, &places, &data)?,
        }
    }
    let destination = i.operands.first().filter(|_| i.destinations > 0);
    let counter = match memory.space {
        Space::Lds => Counter::Lds,
        _ if destination.is_some() || !c.program.is_rdna() => Counter::Vector,
        _ => Counter::Store,
    };
    c.issue(counter, destination)?;
    if memory.flat {
        c.issue(Counter::Lds, None)?;
    }
    Ok(())
}

/// Calls `f` for every lane in EXEC.
#[inline(always)]
fn for_active(exec: u64, mut f: impl FnMut(usize) -> Outcome) -> Outcome {
    let mut left = exec;
    while left != 0 {
        f(left.trailing_zeros() as usize)?;
        left &= left - 1;
    }
    Ok(())
}

/// Accesses one element of `B` bytes in every lane.
fn access_element<const N: usize, const B: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    memory: &MemoryOp,
    places: &Places<N>,
    data: &Operand,
) -> Outcome {
    let exec = c.wave.exec();
    if let Some(access) = c.access.as_deref_mut() {
        for_active(exec, |lane| {
            access.note(memory, lane, places.of(lane));
            Ok(())
        })?;
    }
    match memory.kind {
        MemoryKind::Load => load_lanes::<N, B>(c, memory, places, data),
        MemoryKind::Store => for_active(exec, |lane| {
            let (place, value) = (places.of(lane), get::<N, B>(c.wave, data, memory, lane));
            match memory.space {
                Space::Lds => {
                    return c.lds.store(c.program, c.wave, lane, place as usize, &value);
                }
                Space::Scratch => scratch(c, lane, place, B)?.copy_from_slice(&value),
                _ => c.memory.store(lane, place, B)?.copy_from_slice(&value),
            }
            Ok(())
        }),
        MemoryKind::Atomic(combine) => {
            // The second operand of LDS is in registers of its own.
            let is_lds = memory.space == Space::Lds;
            let second = i.operands.get(usize::from(i.destinations) + 2);
            let second = if is_lds {
                second.copied()
            } else {
                Some(data.after((B / 4) as u16))
            };
            let second = second.filter(|_| is_lds || data.width > (B / 4) as u16);
            for_active(exec, |lane| {
                let of = |operand: &Operand| number(&get::<N, B>(c.wave, operand, memory, lane));
                let (value, compare) = (of(data), second.as_ref().map_or(0, of));
                let (place, unwritten) = match is_lds {
                    true => c.lds.atomic(lane, places.of(lane) as usize, B)?,
                    false => (c.memory.store(lane, places.of(lane), B)?, false),
                };
                if let Some(access) = c.access.as_deref_mut() {
                    access.unwritten_error |= u64::from(unwritten) << lane;
                }
                let new = combine(number(place), value, compare).to_le_bytes();
                let old = place.first_chunk().copied().unwrap_or([0; B]);
                place.copy_from_slice(&new[..B]);
                if i.destinations > 0 {
                    put::<N, B>(c.wave, &i.operands[0], memory, lane, old);
                }
                Ok(())
            })
        }
    }
}

/// Loads one element in every lane.
#[inline(always)]
fn load_lanes<const N: usize, const B: usize>(
    c: &mut Core<'_>,
    memory: &MemoryOp,
    places: &Places<N>,
    data: &Operand,
) -> Outcome {
    let exec = c.wave.exec();
    let shared = if B < 4 || memory.space == Space::Scratch {
        Shared::No
    } else {
        places.shared(exec == c.wave.all_lanes())
    };
    let readers = shared.readers(exec);
    let mut unwritten = 0_u64;
    for_active(readers, |lane| {
        let place = places.of(lane);
        let bytes = match memory.space {
            Space::Lds => {
                let loaded = c.lds.load(c.program, c.wave, lane, place as usize, B)?;
                unwritten |= u64::from(loaded.1) << lane;
                loaded.0
            }
            Space::Scratch => scratch(c, lane, place, B)?,
            _ => c.memory.load(lane, place, B)?,
        };
        let value = bytes.first_chunk().copied().unwrap_or([0; B]);
        put::<N, B>(c.wave, data, memory, lane, value);
        Ok(())
    })?;
    if shared != Shared::No {
        // With no lane in EXEC there is no reader, and nothing is written.
        let reader = readers.trailing_zeros() as usize & (N - 1);
        for row in 0..(B / 4) as u16 {
            let mut words = c.wave.row::<N>(data, row);
            shared.spread(&mut words, reader);
            c.wave.write_row(data, row, &words);
        }
    }
    if let Some(access) = c.access.as_deref_mut() {
        access.unwritten_error |= shared.spread_bits(unwritten, exec);
    }
    Ok(())
}

fn scratch<'a>(
    c: &'a mut Core<'_>,
    lane: usize,
    place: u64,
    bytes: usize,
) -> Result<&'a mut [u8], Box<Fault>> {
    let length = c.wave.scratch.len() / c.wave.lanes;
    let offset = place as usize;
    if offset + bytes > length {
        let buffer = "a lane's private memory";
        return Err(Fault::out_of_bounds(
            "an access",
            buffer,
            lane,
            offset as i64,
            [length, bytes],
        ));
    }
    let start = lane * length + offset;
    Ok(&mut c.wave.scratch[start..start + bytes])
}

/// Writes a loaded element into a lane's registers.
#[inline(always)]
fn put<const N: usize, const B: usize>(
    wave: &mut Wave,
    data: &Operand,
    memory: &MemoryOp,
    lane: usize,
    bytes: [u8; B],
) {
    if B < 4 {
        let (word, unused) = (number(&bytes) as u32, 32 - 8 * B as u32);
        let signed = ((word << unused).cast_signed() >> unused).cast_unsigned();
        let word = if memory.signed { signed } else { word };
        let old = wave.word_mut::<N>(data, 0, lane);
        *old = match memory.half {
            None => word,
            Some(true) => *old & 0xffff | word << 16,
            Some(false) => *old & 0xffff_0000 | word & 0xffff,
        };
    }
    for (row, word) in (0..).zip(bytes.as_chunks::<4>().0) {
        *wave.word_mut::<N>(data, row, lane) = u32::from_le_bytes(*word);
    }
}

/// Returns a lane's registers as the bytes that are stored.
#[inline(always)]
fn get<const N: usize, const B: usize>(
    wave: &Wave,
    data: &Operand,
    memory: &MemoryOp,
    lane: usize,
) -> [u8; B] {
    let shift = if memory.half == Some(true) { 16 } else { 0 };
    let mut value = [0; B];
    for (row, bytes) in (0..).zip(value.chunks_mut(4)) {
        let word = wave.word::<N>(data, row, lane) >> shift;
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
    value
}
