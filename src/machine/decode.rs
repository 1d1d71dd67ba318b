//! Decodes one line of assembly into an [`Instruction`].

use std::collections::HashMap;

use crate::error::ParseError;
use crate::instruction::{Group, Instruction, MemoryKind, Pattern, Permute, Space};
use crate::memory;
use crate::operand::{self, ConstantType, EXEC, Kind, Operand, Part, VCC};
use crate::parse::Symbols;
use crate::program::{Location, Program};
use crate::table::{self, Entry};

/// Address of the first instruction, for calls. Each instruction takes eight bytes, as the compiler's relocations
/// assume.
pub(crate) const CODE_ADDRESS: u64 = 0x7_0000_0000;

pub(crate) fn address_of(index: u32) -> u64 {
    CODE_ADDRESS + u64::from(index) * 8
}

pub(crate) struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
    pub location: Location,
}

pub(crate) struct Decoder<'a> {
    program: &'a Program,
    symbols: &'a Symbols,
    /// Addresses that code loads from the global offset table. The table lies behind the data.
    got: HashMap<String, u64>,
    got_bytes: Vec<u8>,
}

/// Modifiers of a whole instruction, by name.
#[derive(Default)]
struct Modifiers<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Modifiers<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let mut all = self.0.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Option<i64> {
        integer(self.get(name)?)
    }

    /// Returns `[0,1]` as bits.
    fn bits(&self, name: &str, default: u32) -> u32 {
        let Some(list) = self.get(name) else {
            return default;
        };
        let flags = list.trim_matches(['[', ']']).split(',').enumerate();
        flags.fold(0, |bits, (at, flag)| {
            bits | u32::from(flag.trim() == "1") << at
        })
    }
}

fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Cache policies and similar modifiers. They change nothing that is executed here.
const IGNORED: [&str; 22] = [
    "glc",
    "slc",
    "dlc",
    "sc0",
    "sc1",
    "nt",
    "gds",
    "offen",
    "idxen",
    "fi",
    "scc",
    "lds",
    "row_mask",
    "bank_mask",
    "bound_ctrl",
    "expcnt",
    "vmcnt",
    "lgkmcnt",
    "dst_unused",
    "th",
    "scope",
    "tfe",
];

impl<'a> Decoder<'a> {
    pub fn new(program: &'a Program, symbols: &'a Symbols) -> Decoder<'a> {
        Decoder {
            program,
            symbols,
            got: HashMap::new(),
            got_bytes: vec![],
        }
    }

    /// Returns the table's bytes, eight per address.
    pub fn into_got(self) -> Vec<u8> {
        self.got_bytes
    }

    pub fn decode(&mut self, index: u32, line: &Line<'_>) -> Result<Instruction, ParseError> {
        let Some((first, second)) = line.text.split_once(" :: ") else {
            return self.decode_one(index, line, line.text.trim());
        };
        let mut instruction = self.decode_one(index, line, first.trim())?;
        let second = self.decode_one(index, line, second.trim())?;
        line.text.clone_into(&mut instruction.text);
        instruction.special.get_or_insert_default().second = Some(second);
        Ok(instruction)
    }

    fn decode_one(
        &mut self,
        index: u32,
        line: &Line<'_>,
        text: &str,
    ) -> Result<Instruction, ParseError> {
        let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let name = base_name(mnemonic);
        let wrong = |reason: String| ParseError::Malformed {
            text: line.text.to_owned(),
            line: line.number,
            place: self.program.place(line.location),
            reason,
        };
        let entry = table::find(&name, self.program.wave_size);
        let entry = entry.ok_or_else(|| ParseError::UnknownInstruction {
            name: mnemonic.to_owned(),
            line: line.number,
            place: self.program.place(line.location),
        })?;
        let group = Group::from_name(&name);
        let mut instruction = Instruction {
            text: text.to_owned(),
            name: mnemonic.to_owned(),
            group,
            location: line.location,
            operands: vec![],
            destinations: entry.destinations,
            run: entry.run,
            memory: entry.memory,
            offsets: [0; 2],
            extra: entry.extra,
            special: None,
        };
        if entry.ignores_operands {
            return Ok(instruction);
        }
        let constants = constant_type(&name);
        let mut modifiers = Modifiers::default();
        for part in operand::split(rest) {
            if part.starts_with("hwreg(") || part.starts_with("sendmsg(") {
                modifiers.0.push(("register", part));
                continue;
            }
            for (at, word) in part.split_whitespace().enumerate() {
                let operand = match at {
                    0 => operand::parse(word, constants).or_else(|| self.symbol(index, word)),
                    _ => None,
                };
                match operand {
                    Some(operand) => instruction.operands.push(operand),
                    None => modifiers.0.push(modifier(word)),
                }
            }
        }
        apply(&mut instruction, &name, &entry, &modifiers).map_err(wrong)?;
        Ok(instruction)
    }

    /// Resolves a label, or a constant that the linker would compute.
    fn symbol(&mut self, index: u32, word: &str) -> Option<Operand> {
        if let Some(target) = self.symbols.code.get(word) {
            return Some(Operand {
                value: u64::from(*target),
                ..Operand::new(Kind::Label, 0, 1)
            });
        }
        let (name, relocation) = word.split_once('@')?;
        let (relocation, addend) = relocation.split_once('+').unwrap_or((relocation, "0"));
        let addend = u64::try_from(integer(addend)?).ok()?;
        let (kind, half) = relocation.split_once('@')?;
        let code = self.symbols.code.get(name).map(|index| address_of(*index));
        let address = code.or_else(|| self.symbols.data.get(name).copied())?;
        let value = match kind {
            "rel32" | "gotpcrel32" => {
                let target = if kind == "rel32" {
                    address
                } else {
                    self.got_slot(name, address)
                };
                // The constant lies four bytes into its instruction.
                (target + addend).wrapping_sub(address_of(index) + 4)
            }
            "abs32" => address + addend,
            _ => return None,
        };
        let value = if half == "hi" { value >> 32 } else { value };
        Some(Operand::constant(value & 0xffff_ffff))
    }

    fn got_slot(&mut self, name: &str, address: u64) -> u64 {
        let end = memory::DATA_ADDRESS + (self.program.data.len() + self.got_bytes.len()) as u64;
        *self.got.entry(name.to_owned()).or_insert_with(|| {
            self.got_bytes.extend(address.to_le_bytes());
            end
        })
    }
}

/// Returns `v_add_f32` for `v_add_f32_e64_dpp`, and removes the `dual_` of `v_dual_add_f32`.
fn base_name(mnemonic: &str) -> String {
    let mut name = mnemonic;
    for suffix in ["_dpp", "_sdwa", "_dpp8", "_e32", "_e64"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    match name.strip_prefix("v_dual_") {
        Some(rest) => format!("v_{rest}"),
        None => name.to_owned(),
    }
}

fn constant_type(name: &str) -> ConstantType {
    match name {
        _ if name.contains("class") || name.contains("ldexp") => ConstantType::Bits,
        _ if name.ends_with("_f64") => ConstantType::F64,
        _ if name.ends_with("_f16") => ConstantType::F16,
        _ => ConstantType::Bits,
    }
}

/// Splits a modifier such as `offset:16`, `vmcnt(0)` or `glc` into its name and value.
fn modifier(word: &str) -> (&str, &str) {
    match word.split_once(':') {
        Some((name, value)) if !name.contains('(') => (name, value),
        _ => match word.split_once('(') {
            Some((name, value)) => (name, value.trim_end_matches(')')),
            None => (word, ""),
        },
    }
}

fn apply(
    instruction: &mut Instruction,
    name: &str,
    entry: &Entry,
    modifiers: &Modifiers<'_>,
) -> Result<(), String> {
    let operands = &mut instruction.operands;
    match name {
        "v_fmac_f32" | "v_fmac_f64" | "v_mac_f32" => operands.extend(operands.first().copied()),
        "v_cndmask_b32" if operands.len() == 3 => operands.push(Operand::new(Kind::Scalar, VCC, 2)),
        _ if name.starts_with("v_cmpx") && operands.len() == 2 => {
            operands.insert(0, Operand::new(Kind::Scalar, EXEC, 2));
        }
        _ => {}
    }
    if operands.len() < entry.operands {
        let (wanted, got) = (entry.operands, operands.len());
        return Err(format!("{wanted} operands are needed, and {got} were read"));
    }
    waits(instruction, name, modifiers);
    let packed = name.starts_with("v_pk_");
    let sources = usize::from(instruction.destinations);
    if packed {
        let [low, high] =
            [("op_sel", 0), ("op_sel_hi", 7)].map(|(n, default)| modifiers.bits(n, default));
        instruction.extra = [
            low,
            high,
            modifiers.bits("neg_lo", 0),
            modifiers.bits("neg_hi", 0),
        ];
    } else if let Some(bits) = modifiers.get("op_sel").map(|_| modifiers.bits("op_sel", 0)) {
        let part = Part {
            shift: 16,
            bits: 16,
            signed: false,
        };
        for (at, operand) in instruction.operands[sources..].iter_mut().enumerate() {
            if bits >> at & 1 == 1 {
                operand.part = Some(part);
            }
        }
        if bits >> (instruction.operands.len() - sources) & 1 == 1 {
            instruction.special.get_or_insert_default().part = Some((16, 16, true));
        }
    }
    if let Some(permute) = permute(modifiers)? {
        let source = instruction
            .operands
            .get_mut(sources)
            .ok_or("nothing to permute")?;
        let special = instruction.special.get_or_insert_default();
        special.permute = Some(Permute {
            source: *source,
            ..permute
        });
        source.kind = Kind::Permuted;
    }
    for (modifier, value) in &modifiers.0 {
        let special = &mut instruction.special;
        match *modifier {
            "offset" | "offset0" if value.starts_with("swizzle") => {
                instruction.extra[0] = swizzle(value)?;
            }
            "offset" | "offset0" | "offset1" => {
                let offset = integer(value).and_then(|n| i32::try_from(n).ok());
                let offset = offset.ok_or_else(|| format!("`{value}` is no offset"))?;
                instruction.offsets[usize::from(*modifier == "offset1")] = offset;
                if name == "ds_swizzle_b32" {
                    instruction.extra[0] = offset.cast_unsigned();
                }
            }
            "clamp" => special.get_or_insert_default().clamp = true,
            "mul" => special.get_or_insert_default().factor = integer(value).map(|n| n as f32),
            "div" => special.get_or_insert_default().factor = Some(0.5),
            "src0_sel" | "src1_sel" => {
                let at = sources + usize::from(*modifier == "src1_sel");
                let operand = instruction.operands.get_mut(at).ok_or("no such source")?;
                let signed = operand.part.is_some_and(|part| part.signed);
                operand.part = part(value)?.map(|(shift, bits)| Part {
                    shift,
                    bits,
                    signed,
                });
            }
            "dst_sel" => {
                let preserve = modifiers.get("dst_unused") == Some("UNUSED_PRESERVE");
                if let Some((shift, bits)) = part(value)? {
                    special.get_or_insert_default().part = Some((shift, bits, preserve));
                }
            }
            "register" => instruction.extra[0] = u32::from(value.contains("SHADER_CYCLES")),
            "op_sel" | "op_sel_hi" | "neg_lo" | "neg_hi" if packed || *modifier == "op_sel" => {}
            other if IGNORED.contains(&other) || PERMUTES.contains(&other) => {}
            other => return Err(format!("modifier `{other}` is not known to this emulator")),
        }
    }
    if let Some(memory) = &instruction.memory
        && let MemoryKind::Atomic(_) = memory.kind
        && memory.space == Space::Global
    {
        // An atomic with a result has one operand more.
        let returns = instruction.operands.len() > 3 - usize::from(memory.flat);
        instruction.destinations = u8::from(returns);
    }
    Ok(())
}

/// Sets the counts that a wait leaves. A counter that it does not look at gets all ones.
fn waits(instruction: &mut Instruction, name: &str, modifiers: &Modifiers<'_>) {
    let count = |name| modifiers.number(name).map_or(u32::MAX, |n| n as u32);
    match name {
        "s_waitcnt" => instruction.extra = [count("vmcnt"), count("lgkmcnt"), u32::MAX, 0],
        "s_waitcnt_vscnt" | "s_waitcnt_vmcnt" | "s_waitcnt_lgkmcnt" => {
            let left = instruction
                .operands
                .last()
                .map_or(0, |operand| operand.value as u32);
            let at = ["s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_vscnt"];
            let at = at.iter().position(|known| *known == name).unwrap_or(0);
            instruction.extra = [u32::MAX; 4];
            instruction.extra[at] = left;
        }
        _ => {}
    }
}

/// Returns `WORD_1` as a shift and a number of bits.
fn part(value: &str) -> Result<Option<(u8, u8)>, String> {
    Ok(match value {
        "DWORD" => None,
        "WORD_0" => Some((0, 16)),
        "WORD_1" => Some((16, 16)),
        "BYTE_0" => Some((0, 8)),
        "BYTE_1" => Some((8, 8)),
        "BYTE_2" => Some((16, 8)),
        "BYTE_3" => Some((24, 8)),
        other => return Err(format!("`{other}` is no part of a register")),
    })
}

const PERMUTES: [&str; 14] = [
    "quad_perm",
    "row_shl",
    "row_shr",
    "row_ror",
    "wave_shl",
    "wave_shr",
    "wave_rol",
    "wave_ror",
    "row_mirror",
    "row_half_mirror",
    "row_bcast",
    "row_share",
    "row_newbcast",
    "row_xmask",
];

fn permute(modifiers: &Modifiers<'_>) -> Result<Option<Permute>, String> {
    let lanes = |value: &str| -> Vec<u8> {
        let parts = value.trim_matches(['[', ']']).split(',');
        parts.filter_map(|part| part.trim().parse().ok()).collect()
    };
    let mut pattern = None;
    for (name, value) in &modifiers.0 {
        let lanes = lanes(value);
        let one = lanes.first().copied().unwrap_or(0);
        pattern = pattern.or(match *name {
            "quad_perm" => lanes.try_into().ok().map(Pattern::Quad),
            "dpp8" => lanes.try_into().ok().map(Pattern::Eight),
            "row_shl" => Some(Pattern::RowShl(one)),
            "row_shr" => Some(Pattern::RowShr(one)),
            "row_ror" => Some(Pattern::RowRor(one)),
            "wave_shl" => Some(Pattern::WaveShl),
            "wave_shr" => Some(Pattern::WaveShr),
            "wave_rol" => Some(Pattern::WaveRol),
            "wave_ror" => Some(Pattern::WaveRor),
            "row_mirror" => Some(Pattern::Mirror),
            "row_half_mirror" => Some(Pattern::HalfMirror),
            "row_bcast" if one == 15 => Some(Pattern::Broadcast15),
            "row_bcast" => Some(Pattern::Broadcast31),
            "row_share" | "row_newbcast" => Some(Pattern::Share(one)),
            "row_xmask" => Some(Pattern::Xmask(one)),
            _ => None,
        });
    }
    let mask = |name| modifiers.number(name).map_or(0xf, |mask| mask as u8);
    Ok(pattern.map(|pattern| Permute {
        pattern,
        row_mask: mask("row_mask"),
        bank_mask: mask("bank_mask"),
        // The assembler writes the set bit as 0 or as 1.
        zero: modifiers.get("bound_ctrl").is_some(),
        source: Operand::new(Kind::Off, 0, 0),
    }))
}

/// Returns `swizzle(SWAP,16)` as the bits of the instruction's offset.
fn swizzle(value: &str) -> Result<u32, String> {
    let inside = value.trim_start_matches("swizzle").trim_matches(['(', ')']);
    let mut words = inside.split(',').map(str::trim);
    let mode = words.next().unwrap_or_default();
    let numbers: Vec<u32> = words.clone().filter_map(|word| word.parse().ok()).collect();
    let bits = |and: u32, or: u32, xor: u32| and | or << 5 | xor << 10;
    Ok(match (mode, numbers.as_slice()) {
        ("QUAD_PERM", [a, b, c, d]) => 0x8000 | a | b << 2 | c << 4 | d << 6,
        ("SWAP", [size]) => bits(0x1f, 0, *size),
        ("REVERSE", [size]) => bits(0x1f, 0, size - 1),
        ("BROADCAST", [size, lane]) => bits(0x1f & !(size - 1), *lane, 0),
        ("BITMASK_PERM", _) => {
            let mask = words.next().unwrap_or_default().trim_matches('"');
            mask.bytes().fold(0, |all, c| {
                let [and, or, xor] =
                    [all & 0x1f, all >> 5 & 0x1f, all >> 10 & 0x1f].map(|n| n << 1 & 0x1f);
                match c {
                    b'1' => bits(and, or | 1, xor),
                    b'p' => bits(and | 1, or, xor),
                    b'i' => bits(and | 1, or, xor | 1),
                    _ => bits(and, or, xor),
                }
            })
        }
        _ => return Err(format!("`{value}` is no exchange of lanes")),
    })
}
