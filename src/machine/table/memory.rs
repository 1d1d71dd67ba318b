//! Global memory, LDS, scratch, and loads of scalars.

use super::Entry;
use super::lanes::find_exchange;
use crate::core::{Core, Outcome};
use crate::error::Fault;
use crate::instruction::{Atomic, Instruction, MemoryKind, MemoryOp, Run, Space};
use crate::operand::{Kind, Operand};
use crate::wave::{Counter, Lane};

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
    let mut addresses = [start; N];
    if address.kind != Kind::Off {
        let low = c.wave.row::<N>(address, 0);
        let high = match base.is_some() || is_local {
            true => [0; N],
            false => c.wave.row::<N>(address, 1),
        };
        for lane in 0..N {
            let at = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            addresses[lane] = addresses[lane].wrapping_add(at);
        }
    }
    let unit = i64::from(memory.pair.max(1));
    let elements = if memory.pair > 0 { 2 } else { 1 };
    for (element, offset) in i.offsets[..elements].iter().enumerate() {
        let mut places =
            addresses.map(|address| address.wrapping_add_signed(i64::from(*offset) * unit));
        if is_local {
            // Addresses of LDS and scratch have 32 bits.
            places = places.map(|place| u64::from(place as u32));
        }
        // The second element of a store is an operand of its own.
        let second = i.operands.get(usize::from(i.destinations) + 2);
        let data = second.filter(|_| element == 1).unwrap_or(data);
        let loaded = access_element::<N>(c, i, memory, &places, data)?;
        if i.destinations > 0 {
            let words = usize::from(memory.bytes / 4) * element;
            loaded.put(c, &i.operands[0].after(words as u16), memory);
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

/// Accesses one element in every lane, and returns what was there before.
fn access_element<const N: usize>(
    c: &mut Core<'_>,
    i: &Instruction,
    memory: &MemoryOp,
    places: &[u64; N],
    data: &Operand,
) -> Result<Loaded<N>, Box<Fault>> {
    let (bytes, exec) = (usize::from(memory.bytes), c.wave.exec());
    let active = || (0..N).filter(|lane| exec >> lane & 1 == 1);
    if let Some(access) = c.access.as_deref_mut() {
        active().for_each(|lane| access.note(memory, lane, places[lane]));
    }
    let mut loaded = Loaded::<N>([[0; N]; 4]);
    match memory.kind {
        MemoryKind::Load => {
            let first = active().next();
            let is_same = |lane: usize| first.is_some_and(|first| places[first] == places[lane]);
            // All lanes read one address, so one read is enough.
            if bytes >= 4 && memory.space != Space::Scratch && active().all(is_same) {
                for lane in active().take(1) {
                    let value = load(c, memory, lane, places[lane], exec)?;
                    loaded.fill(value);
                }
                return Ok(loaded);
            }
            for lane in active() {
                let value = load(c, memory, lane, places[lane], 1 << lane)?;
                loaded.set(memory, lane, value);
            }
        }
        MemoryKind::Store => {
            for lane in active() {
                let value = &get(c, data, memory, lane)[..bytes];
                match memory.space {
                    Space::Lds => {
                        c.lds
                            .store(c.program, c.wave, lane, places[lane] as usize, value)?
                    }
                    Space::Scratch => scratch(c, lane, places[lane], bytes)?.copy_from_slice(value),
                    _ => c
                        .memory
                        .store(lane, places[lane], bytes)?
                        .copy_from_slice(value),
                }
            }
        }
        MemoryKind::Atomic(combine) => {
            // The second operand of LDS is in registers of its own.
            let is_lds = memory.space == Space::Lds;
            let second = if is_lds {
                i.operands.get(usize::from(i.destinations) + 2)
            } else {
                Some(data)
            };
            let skipped = if is_lds { 0 } else { (bytes / 4) as u16 };
            for lane in active() {
                let value = number(&get(c, data, memory, lane)[..bytes]);
                let compare = second.filter(|one| one.width > skipped).map_or(0, |one| {
                    let width = one.width - skipped;
                    number(
                        &get(
                            c,
                            &Operand {
                                width,
                                ..one.after(skipped)
                            },
                            memory,
                            lane,
                        )[..bytes],
                    )
                });
                let place = match is_lds {
                    true => c.lds.atomic(lane, places[lane] as usize, bytes)?,
                    false => c.memory.store(lane, places[lane], bytes)?,
                };
                loaded.set(memory, lane, place);
                let new = combine(number(place), value, compare);
                place.copy_from_slice(&new.to_le_bytes()[..bytes]);
            }
        }
    }
    Ok(loaded)
}

/// Loads one element. `lanes` get it, and are noted if no wave has written it.
fn load<'a>(
    c: &'a mut Core<'_>,
    memory: &MemoryOp,
    lane: usize,
    place: u64,
    lanes: u64,
) -> Result<&'a [u8], Box<Fault>> {
    let bytes = usize::from(memory.bytes);
    match memory.space {
        Space::Lds => {
            let (value, is_unwritten) =
                c.lds.load(c.program, c.wave, lane, place as usize, bytes)?;
            if let Some(access) = c.access.as_deref_mut().filter(|_| is_unwritten) {
                access.unwritten_error |= lanes;
            }
            Ok(value)
        }
        Space::Scratch => Ok(scratch(c, lane, place, bytes)?),
        _ => c.memory.load(lane, place, bytes),
    }
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

/// The loaded values of all lanes, before they go into registers.
struct Loaded<const N: usize>([[u32; N]; 4]);

impl<const N: usize> Loaded<N> {
    #[inline]
    fn set(&mut self, memory: &MemoryOp, lane: usize, bytes: &[u8]) {
        if bytes.len() < 4 {
            let (word, unused) = (number(bytes) as u32, 32 - 8 * bytes.len() as u32);
            let signed = ((word << unused).cast_signed() >> unused).cast_unsigned();
            self.0[0][lane] = if memory.signed { signed } else { word };
            return;
        }
        for (row, word) in self.0.iter_mut().zip(bytes.as_chunks::<4>().0) {
            row[lane] = u32::from_le_bytes(*word);
        }
    }

    /// Gives every lane the same value.
    fn fill(&mut self, bytes: &[u8]) {
        for (row, word) in self.0.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *row = [u32::from_le_bytes(*word); N];
        }
    }

    /// Writes the values into the registers of the lanes in EXEC.
    fn put(&self, c: &mut Core<'_>, data: &Operand, memory: &MemoryOp) {
        let words = usize::from(memory.bytes).div_ceil(4);
        for (at, row) in (0..).zip(&self.0[..words]) {
            let Some(upper) = memory.half else {
                c.wave.write_row(data, at, row);
                continue;
            };
            let old = c.wave.row::<N>(data, 0);
            let merged = |lane| match upper {
                true => old[lane] & 0xffff | row[lane] << 16,
                false => old[lane] & 0xffff_0000 | row[lane] & 0xffff,
            };
            u32::write::<N>(c.wave, data, merged);
        }
    }
}

/// Returns a lane's registers as the bytes that are stored.
fn get(c: &Core<'_>, data: &Operand, memory: &MemoryOp, lane: usize) -> [u8; 16] {
    let mut value = [0; 16];
    let words = data.width.min(u16::from(memory.bytes).div_ceil(4));
    for (at, bytes) in (0..words).zip(value.as_chunks_mut::<4>().0) {
        let word = c.wave.vector(data.index + at)[lane];
        let shift = if memory.half == Some(true) { 16 } else { 0 };
        *bytes = (word >> shift).to_le_bytes();
    }
    value
}
