//! Global memory, LDS, scratch, and loads of scalars.

use super::Entry;
use super::lanes::find_exchange;
use super::places::{Places, Shared};
use crate::core::{Core, Outcome};
use crate::error::Fault;
use crate::instruction::{Atomic, Instruction, MemoryKind, MemoryOp, Run, Space};
use crate::mistake::{MistakeKind, Place};
use crate::operand::{Kind, Operand, PRIVATE_APERTURE, SHARED_APERTURE};
use crate::order::Checks;
use crate::shadow::UseKind;
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
        is_coherent: false,
        is_spill: false,
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
    let exec = c.wave.exec();
    match c.memory.load(exec.trailing_zeros() as usize, start, bytes) {
        Ok(loaded) => {
            for (at, word) in (0..).zip(loaded.as_chunks::<4>().0) {
                u32::from_le_bytes(*word).set(c.wave, &destination.after(at));
            }
        }
        Err(fault) if exec != 0 => return Err(fault),
        // The compiler does not skip these loads in branches that no lane takes. Nothing uses what they load there.
        Err(_) => {
            for at in 0..destination.width {
                0_u32.set(c.wave, &destination.after(at));
            }
        }
    }
    for lane in ends(exec) {
        c.touch(Space::Scalar, (UseKind::Read, false), lane, start, bytes);
    }
    c.issue(Counter::Scalar, Some(destination))
}

/// Returns the first and the last lane of a mask: two readers say as much as more of them do.
fn ends(mask: u64) -> impl Iterator<Item = usize> {
    let first = mask.trailing_zeros() as usize;
    let last = 63_usize.wrapping_sub(mask.leading_zeros() as usize);
    let both = [first, last]
        .into_iter()
        .take(if first == last { 1 } else { 2 });
    both.filter(move |_| mask != 0)
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
    match memory.flat {
        true => access_flat::<N>(c, i, memory)?,
        false => access_space::<N>(c, i, memory)?,
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

/// Accesses whatever memory the upper half of each lane's address means: LDS, private memory, or global memory.
fn access_flat<const N: usize>(c: &mut Core<'_>, i: &Instruction, memory: &MemoryOp) -> Outcome {
    let exec = c.wave.exec();
    let (address, _, _) = parts(i, memory);
    let upper = c.wave.row::<N>(address, 1);
    let mut left = exec;
    for (aperture, space) in [
        (Some(SHARED_APERTURE), Space::Lds),
        (Some(PRIVATE_APERTURE), Space::Scratch),
        (None, Space::Global),
    ] {
        let is_here = |lane: &usize| aperture.is_none_or(|aperture| upper[*lane] == aperture);
        let lanes = (0..N).filter(is_here).fold(0, |all, lane| all | 1 << lane) & left;
        left &= !lanes;
        if lanes != 0 {
            c.wave.set_exec(lanes);
            let done = access_space::<N>(c, i, &MemoryOp { space, ..*memory });
            c.wave.set_exec(exec);
            done?;
        }
    }
    Ok(())
}

fn access_space<const N: usize>(c: &mut Core<'_>, i: &Instruction, memory: &MemoryOp) -> Outcome {
    let operands = MemoryOp {
        space: if memory.flat {
            Space::Global
        } else {
            memory.space
        },
        ..*memory
    };
    let (address, base, data) = parts(i, &operands);
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
    let kind = memory.use_kind();
    match memory.kind {
        MemoryKind::Load => load_lanes::<N, B>(c, memory, places, data),
        MemoryKind::Store => for_active(exec, |lane| {
            let (place, value) = (places.of(lane), get::<N, B>(c.wave, data, memory, lane));
            target(c, memory, lane, place, B)?.copy_from_slice(&value);
            if memory.space == Space::Scratch {
                return Ok(());
            }
            c.touch(memory.space, kind, lane, place, B);
            if memory.is_coherent {
                c.signal(lane, place, kind.0);
            }
            Ok(())
        }),
        MemoryKind::Atomic(combine) => {
            // The second operand of LDS is in registers of its own.
            let is_lds = memory.space == Space::Lds && !memory.flat;
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
                let address = places.of(lane);
                let place = target(c, memory, lane, address, B)?;
                let new = combine(number(place), value, compare).to_le_bytes();
                let old = place.first_chunk().copied().unwrap_or([0; B]);
                place.copy_from_slice(&new[..B]);
                if memory.space != Space::Scratch {
                    let unwritten = c.touch(memory.space, kind, lane, address, B);
                    if let Some(access) = c.access.as_deref_mut() {
                        access.unwritten_error |= u64::from(unwritten) << lane;
                    }
                }
                if memory.space == Space::Global {
                    c.signal(lane, address, kind.0);
                }
                if i.destinations > 0 {
                    put::<N, B>(c.wave, &i.operands[0], memory, lane, old);
                }
                Ok(())
            })
        }
    }
}

/// Returns bytes that a lane changes.
#[inline(always)]
fn target<'a>(
    c: &'a mut Core<'_>,
    memory: &MemoryOp,
    lane: usize,
    address: u64,
    bytes: usize,
) -> Result<&'a mut [u8], Box<Fault>> {
    let kind = memory.use_kind().0;
    match memory.space {
        Space::Lds => c.lds.bytes(kind, lane, address as usize, bytes),
        Space::Scratch => scratch(c, memory, lane, address, bytes),
        _ => c.memory.store(kind, lane, address, bytes),
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
    let kind = memory.use_kind();
    let shared = if B < 4 || memory.space == Space::Scratch {
        Shared::No
    } else {
        places.shared(exec == c.wave.all_lanes())
    };
    let readers = shared.readers(exec);
    for_active(readers, |lane| {
        let place = places.of(lane);
        let bytes = match memory.space {
            Space::Lds => c.lds.bytes(kind.0, lane, place as usize, B)?,
            Space::Scratch => scratch(c, memory, lane, place, B)?,
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
    let is_noted = match memory.space {
        Space::Lds => true,
        Space::Scratch => false,
        _ => c.order.checks == Checks::Threads,
    };
    if is_noted {
        let all = shared == Shared::All;
        let users = if all {
            ends(exec).fold(0, |all, lane| all | 1 << lane)
        } else {
            exec
        };
        let mut unwritten = 0;
        for_active(users, |lane| {
            let place = places.of(lane);
            let is_unwritten = c.touch(memory.space, kind, lane, place, B);
            unwritten |= u64::from(is_unwritten) << lane;
            if memory.is_coherent {
                c.signal(lane, place, kind.0);
            }
            Ok(())
        })?;
        if let Some(access) = c.access.as_deref_mut() {
            access.unwritten_error |= if all && unwritten != 0 {
                exec
            } else {
                unwritten
            };
        }
    }
    Ok(())
}

/// Returns bytes of a lane's private memory. Notes a read of bytes that the lane has not written.
fn scratch<'a>(
    c: &'a mut Core<'_>,
    memory: &MemoryOp,
    lane: usize,
    address: u64,
    bytes: usize,
) -> Result<&'a mut [u8], Box<Fault>> {
    let length = c.wave.scratch.len() / c.wave.lanes;
    let offset = address as usize;
    let kind = memory.use_kind().0;
    let place = |offset: usize| Place {
        space: Space::Scratch,
        array: String::new(),
        offset: offset as i64,
        bytes,
        length,
        element: 1,
    };
    if offset + bytes > length {
        let place = place(offset);
        return Err(Box::new(Fault::OutOfBounds { kind, place, lane }));
    }
    let start = lane * length + offset;
    if let Some(written) = c.wave.is_scratch_written.get_mut(start..start + bytes) {
        let is_unwritten = written.contains(&false);
        written.fill(true);
        // A register that is saved and loaded again may have lanes without a value, which nothing uses.
        if is_unwritten && kind != UseKind::Write && !memory.is_spill {
            let place = place(offset);
            // No other thread can write it, so it is settled at once.
            let word = (2, lane as u64);
            c.mistake(lane, word, MistakeKind::Unwritten { kind, place });
        }
    }
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
