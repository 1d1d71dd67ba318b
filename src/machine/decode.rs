//! Decodes one line of assembly into an [`Instruction`].

use std::collections::HashMap;

use crate::error::ParseError;
use crate::instruction::{Group, Instruction, Permute, Space};
use crate::memory;
use crate::operand::{self, ConstantType, EXEC, Kind, Operand, VCC, integer};
use crate::parse::Symbols;
use crate::program::{Location, Program, address_of};
use crate::table::{self, Entry};

pub(crate) struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
    pub location: Location,
    pub is_after_wave_barrier: bool,
    pub is_spill: bool,
}

pub(crate) struct Decoder<'a> {
    program: &'a Program,
    symbols: &'a Symbols,
    /// Addresses that code loads from the global offset table. The table lies behind the data.
    got: HashMap<String, u64>,
    got_bytes: Vec<u8>,
    /// Number of instructions. The addresses of functions that the program does not have follow theirs.
    count: u32,
    externals: Vec<(String, Location)>,
    /// The instruction behind the last `s_getpc_b64`, and the real bytes of code since then.
    getpc: (u32, u64),
    /// The name under which `v_mov_b32` is executed while CDNA's index mode is on.
    indexed: Option<&'static str>,
}

/// What decoding finds besides instructions.
pub(crate) struct Decoded {
    /// The global offset table, eight bytes an address.
    pub got: Vec<u8>,
    pub externals: Vec<(String, Location)>,
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

    fn number(&self, name: &str) -> Option<u32> {
        integer(self.get(name)?).map(|number| number as u32)
    }

    /// Returns whether a load or store is atomic between workgroups. A volatile one, which sets a second flag, is not.
    fn is_coherent(&self) -> bool {
        let is_set = |name| self.get(name).is_some();
        let is_cdna3 = is_set("sc1") && !is_set("sc0");
        let is_older = is_set("glc") && !is_set("dlc") && !is_set("slc");
        is_cdna3 || is_older || self.get("scope") == Some("SCOPE_DEV")
    }

    /// Returns `[0,1]` as bits.
    fn bits(&self, name: &str, default: u32) -> u32 {
        let flags = self
            .get(name)
            .map(|list| numbers(list).into_iter().zip(0..));
        flags.map_or(default, |flags| {
            flags.fold(0, |bits, (flag, at)| bits | (flag & 1) << at)
        })
    }
}

/// Reads `3` or `[0,1]`.
fn numbers(text: &str) -> Vec<u32> {
    let parts = text.trim_matches(['[', ']', '(', ')']).split(',');
    parts.filter_map(|part| part.trim().parse().ok()).collect()
}

/// Cache policies and similar modifiers. They change nothing that is executed here, or another one reads them.
const IGNORED: &str = "glc slc dlc sc0 sc1 nt gds offen idxen fi scc lds row_mask bank_mask bound_ctrl expcnt vmcnt \
                       lgkmcnt dst_unused th scope tfe bitop3";

/// Patterns of data parallel primitives (DPP).
const PERMUTES: &str = "quad_perm dpp8 row_shl row_shr row_ror wave_shl wave_shr wave_rol wave_ror row_mirror \
                        row_half_mirror row_bcast row_share row_newbcast row_xmask";

fn is_listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

impl<'a> Decoder<'a> {
    pub fn new(program: &'a Program, symbols: &'a Symbols, count: usize) -> Decoder<'a> {
        Decoder {
            program,
            symbols,
            got: HashMap::new(),
            got_bytes: vec![],
            count: count as u32,
            externals: vec![],
            getpc: (0, 0),
            indexed: None,
        }
    }

    pub fn finish(self) -> Decoded {
        Decoded {
            got: self.got_bytes,
            externals: self.externals,
        }
    }

    pub fn decode(&mut self, index: u32, line: &Line<'_>) -> Result<Instruction, ParseError> {
        let Some((first, second)) = line.text.split_once(" :: ") else {
            let instruction = self.decode_one(line, line.text.trim())?;
            if instruction.name == "s_getpc_b64" {
                self.getpc = (index + 1, 0);
            } else {
                // Only short instructions and those with a symbol lie between it and the symbols that it is for.
                self.getpc.1 += if line.text.contains('@') { 8 } else { 4 };
            }
            return Ok(instruction);
        };
        let mut instruction = self.decode_one(line, first.trim())?;
        let second = self.decode_one(line, second.trim())?;
        line.text.clone_into(&mut instruction.text);
        instruction.special.get_or_insert_default().second = Some(second);
        Ok(instruction)
    }

    fn decode_one(&mut self, line: &Line<'_>, text: &str) -> Result<Instruction, ParseError> {
        let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let name = self.name_in_mode(base_name(mnemonic), rest);
        let place = self.program.place(line.location);
        let lanes = self.program.wave_size;
        let Some(entry) = table::find(&name, lanes) else {
            return Err(ParseError::UnknownInstruction {
                name: mnemonic.to_owned(),
                line: line.number,
                place,
            });
        };
        let mut instruction = Instruction {
            text: text.to_owned(),
            name: mnemonic.to_owned(),
            group: Group::from_name(&name),
            location: line.location,
            is_after_wave_barrier: line.is_after_wave_barrier,
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
        let constants = match name.rsplit('_').next() {
            _ if name.contains("class") || name.contains("ldexp") => ConstantType::Bits,
            Some("f64") => ConstantType::F64,
            Some("f16") => ConstantType::F16,
            _ => ConstantType::Bits,
        };
        let mut modifiers = Modifiers::default();
        for part in operand::split(rest) {
            let is_register = ["hwreg(", "sendmsg(", "gpr_idx("];
            if is_register.iter().any(|start| part.starts_with(start)) {
                modifiers.0.push(("register", part));
                continue;
            }
            for (at, word) in part.split_whitespace().enumerate() {
                let operand = operand::parse(word, constants);
                let operand = operand.or_else(|| self.symbol(line.location, word));
                match operand.filter(|_| at == 0) {
                    Some(operand) => instruction.operands.push(operand),
                    None => modifiers.0.push(modifier(word)),
                }
            }
        }
        if let Some(memory) = &mut instruction.memory {
            memory.is_spill = line.is_spill;
            memory.is_coherent = modifiers.is_coherent();
        }
        let applied = apply(&mut instruction, &name, &entry, &modifiers, lanes);
        applied.map_err(|reason| ParseError::Malformed {
            text: line.text.to_owned(),
            line: line.number,
            place,
            reason,
        })?;
        Ok(instruction)
    }

    /// Returns the name under which an instruction is executed. In CDNA's index mode a move reads or writes a register
    /// whose number M0 changes, as other instructions do on RDNA.
    fn name_in_mode(&mut self, name: String, operands: &str) -> String {
        match &*name {
            "s_set_gpr_idx_on" if operands.contains("DST") => self.indexed = Some("v_movreld_b32"),
            "s_set_gpr_idx_on" => self.indexed = Some("v_movrels_b32"),
            "s_set_gpr_idx_off" => self.indexed = None,
            "v_mov_b32" => return self.indexed.map_or(name, str::to_owned),
            _ => {}
        }
        name
    }

    /// Resolves a label, or a constant that the linker would compute.
    fn symbol(&mut self, location: Location, word: &str) -> Option<Operand> {
        if let Some(target) = self.symbols.code.get(word) {
            return Some(Operand::with_value(Kind::Label, u64::from(*target)));
        }
        let (name, relocation) = word.split_once('@')?;
        let (relocation, addend) = relocation.split_once('+').unwrap_or((relocation, "0"));
        let addend = integer(addend)?;
        let (kind, half) = relocation.split_once('@')?;
        let known = self.symbols.address(name);
        let address = known.unwrap_or_else(|| self.external(name, location));
        // A relative address counts from the instruction behind `s_getpc_b64`. What is added to it makes up for the
        // bytes between there and the constant, which lies four bytes into its instruction.
        let (start, between) = self.getpc;
        let relative = |to: u64| {
            let offset = addend.wrapping_sub(between + 4);
            to.wrapping_add(offset).wrapping_sub(address_of(start))
        };
        let value = match kind {
            "rel32" => relative(address),
            "gotpcrel32" => relative(self.got_slot(name, address)),
            "abs32" => address + addend,
            _ => return None,
        };
        let value = if half == "hi" { value >> 32 } else { value };
        Some(Operand::with_value(Kind::Constant, value & 0xffff_ffff))
    }

    /// Returns an address for a function that the program does not have.
    fn external(&mut self, name: &str, location: Location) -> u64 {
        let known = self.externals.iter().position(|one| one.0 == name);
        let at = known.unwrap_or_else(|| {
            self.externals.push((name.to_owned(), location));
            self.externals.len() - 1
        });
        address_of(self.count + at as u32)
    }

    fn got_slot(&mut self, name: &str, address: u64) -> u64 {
        let start = self.program.data.len().next_multiple_of(8);
        let end = memory::DATA_ADDRESS + (start + self.got_bytes.len()) as u64;
        *self.got.entry(name.to_owned()).or_insert_with(|| {
            self.got_bytes.extend(address.to_le_bytes());
            end
        })
    }
}

/// Returns `v_add_f32` for `v_add_f32_e64_dpp`, and removes the `dual_` of `v_dual_add_f32` and the `nc_` of
/// `v_add_nc_u32`. Names of RDNA 4 become the older ones.
fn base_name(mnemonic: &str) -> String {
    let mut name = mnemonic;
    for suffix in ["_dpp", "_sdwa", "_dpp8", "_e32", "_e64"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    let name = name.replacen("v_dual_", "v_", 1).replacen("_nc_", "_", 1);
    match &*name {
        "s_add_co_ci_u32" => "s_addc_u32".into(),
        "s_sub_co_ci_u32" => "s_subb_u32".into(),
        "v_mad_co_u64_u32" => "v_mad_u64_u32".into(),
        "v_mad_co_i64_i32" => "v_mad_i64_i32".into(),
        _ if name.starts_with("s_add") || name.starts_with("s_sub") => {
            name.replacen("_co_", "_", 1)
        }
        _ => name.replacen("_num_", "_", 1),
    }
}

/// Splits a modifier such as `offset:16`, `vmcnt(0)` or `glc` into its name and value.
fn modifier(word: &str) -> (&str, &str) {
    let split = match word.split_once(':') {
        Some((name, value)) if !name.contains('(') => Some((name, value)),
        _ => word
            .split_once('(')
            .map(|(name, value)| (name, value.trim_end_matches(')'))),
    };
    split.unwrap_or((word, ""))
}

/// Adds to a decoded instruction what its name and its modifiers say.
fn apply(
    instruction: &mut Instruction,
    name: &str,
    entry: &Entry,
    modifiers: &Modifiers<'_>,
    lanes: usize,
) -> Result<(), String> {
    add_implied_operands(&mut instruction.operands, name, modifiers);
    let (got, wanted) = (instruction.operands.len(), entry.operands);
    if got < wanted {
        return Err(format!("{wanted} operands are needed, and {got} were read"));
    }
    waits(instruction, name, modifiers);
    select_halves(instruction, name, modifiers);
    let sources = usize::from(instruction.destinations);
    if let Some((pattern, value)) = modifiers.0.iter().find(|one| is_listed(PERMUTES, one.0)) {
        let source = instruction
            .operands
            .get_mut(sources)
            .ok_or("nothing to permute")?;
        let permute = permute(pattern, &numbers(value), modifiers, *source, lanes);
        instruction.special.get_or_insert_default().permute = Some(permute);
        source.kind = Kind::Permuted;
    }
    for (modifier, value) in &modifiers.0 {
        apply_modifier(instruction, name, modifiers, modifier, value)?;
    }
    if let Some(memory) = &instruction.memory
        && memory.is_atomic()
        && memory.space == Space::Global
    {
        // An atomic with a result has one operand more.
        let returns = instruction.operands.len() > 3 - usize::from(memory.flat);
        instruction.destinations = u8::from(returns);
    }
    Ok(())
}

/// Adds the operands that the assembler does not write.
fn add_implied_operands(operands: &mut Vec<Operand>, name: &str, modifiers: &Modifiers<'_>) {
    let got = operands.len();
    match name {
        "v_fmac_f32" | "v_fmac_f64" | "v_mac_f32" | "s_fmac_f32" => {
            operands.extend(operands.first().copied())
        }
        "v_bitop3_b32" | "v_bitop3_b16" => {
            let table = modifiers.get("bitop3").and_then(integer).unwrap_or(0);
            operands.push(Operand::with_value(Kind::Constant, table));
        }
        "v_cndmask_b32" if got == 3 => operands.push(Operand::new(Kind::Scalar, VCC, 2)),
        _ if name.starts_with("v_cmpx") && got == 2 => {
            operands.insert(0, Operand::new(Kind::Scalar, EXEC, 2));
        }
        _ => {}
    }
}

/// Sets which half of a register each operand is, from `op_sel` and its like.
fn select_halves(instruction: &mut Instruction, name: &str, modifiers: &Modifiers<'_>) {
    let sources = usize::from(instruction.destinations);
    if name.starts_with("v_pk_") {
        let all = [
            ("op_sel", 0),
            ("op_sel_hi", 7),
            ("neg_lo", 0),
            ("neg_hi", 0),
        ];
        instruction.extra = all.map(|(name, default)| modifiers.bits(name, default));
    } else if modifiers.get("op_sel").is_some() {
        let bits = modifiers.bits("op_sel", 0);
        let operands = &mut instruction.operands[sources..];
        if bits >> operands.len() & 1 == 1 {
            instruction.special.get_or_insert_default().part = Some((16, 16, true));
        }
        for (at, operand) in operands.iter_mut().enumerate() {
            operand.part = (bits >> at & 1 == 1)
                .then_some((16, 16, false))
                .or(operand.part);
        }
    }
}

fn apply_modifier(
    instruction: &mut Instruction,
    name: &str,
    modifiers: &Modifiers<'_>,
    modifier: &str,
    value: &str,
) -> Result<(), String> {
    let special = &mut instruction.special;
    match modifier {
        "offset" if value.starts_with("swizzle") => instruction.extra[0] = swizzle(value)?,
        "offset" | "offset0" | "offset1" => {
            let offset = integer(value).and_then(|n| i32::try_from(n.cast_signed()).ok());
            let offset = offset.ok_or_else(|| format!("`{value}` is no offset"))?;
            instruction.offsets[usize::from(modifier == "offset1")] = offset;
            if name == "ds_swizzle_b32" {
                instruction.extra[0] = offset.cast_unsigned();
            }
        }
        "clamp" => special.get_or_insert_default().clamp = true,
        "mul" => special.get_or_insert_default().factor = integer(value).map(|n| n as f32),
        "div" => special.get_or_insert_default().factor = Some(0.5),
        "src0_sel" | "src1_sel" => {
            let at = usize::from(instruction.destinations) + usize::from(modifier == "src1_sel");
            let operand = instruction.operands.get_mut(at).ok_or("no such source")?;
            let signed = operand.part.is_some_and(|(_, _, signed)| signed);
            operand.part = part(value)?.map(|(shift, bits)| (shift, bits, signed));
        }
        "dst_sel" => {
            let preserve = modifiers.get("dst_unused") == Some("UNUSED_PRESERVE");
            if let Some((shift, bits)) = part(value)? {
                special.get_or_insert_default().part = Some((shift, bits, preserve));
            }
        }
        "register" => instruction.extra[0] = u32::from(value.contains("SHADER_CYCLES")),
        "op_sel" => {}
        "op_sel_hi" | "neg_lo" | "neg_hi" if name.starts_with("v_pk_") => {}
        other if is_listed(IGNORED, other) || is_listed(PERMUTES, other) => {}
        other => return Err(format!("modifier `{other}` is not known to this emulator")),
    }
    Ok(())
}

/// Sets the counts that a wait leaves: of global memory, LDS, stores, and loads into scalar registers. A counter that it
/// does not look at gets all ones.
fn waits(instruction: &mut Instruction, name: &str, modifiers: &Modifiers<'_>) {
    const NOTHING: u32 = u32::MAX;
    let last = instruction.operands.last();
    let left = last.map_or(0, |operand| operand.value as u32);
    instruction.extra = match name {
        "s_waitcnt" => {
            let count = |name| modifiers.number(name).unwrap_or(NOTHING);
            // One counter is for LDS and for loads into scalar registers.
            let both = count("lgkmcnt");
            [count("vmcnt"), both, NOTHING, both]
        }
        "s_waitcnt_vmcnt" | "s_wait_loadcnt" => [left, NOTHING, NOTHING, NOTHING],
        "s_waitcnt_lgkmcnt" => [NOTHING, left, NOTHING, left],
        "s_waitcnt_vscnt" | "s_wait_storecnt" => [NOTHING, NOTHING, left, NOTHING],
        "s_wait_dscnt" => [NOTHING, left, NOTHING, NOTHING],
        "s_wait_kmcnt" => [NOTHING, NOTHING, NOTHING, left],
        // Two counts in one constant.
        "s_wait_loadcnt_dscnt" => [left >> 8 & 63, left & 63, NOTHING, NOTHING],
        "s_wait_storecnt_dscnt" => [NOTHING, left & 63, left >> 8 & 63, NOTHING],
        _ => return,
    };
}

/// Returns `WORD_1` as a shift and a number of bits.
fn part(value: &str) -> Result<Option<(u8, u8)>, String> {
    let unknown = || format!("`{value}` is no part of a register");
    let (kind, number) = value.split_once('_').unwrap_or((value, "0"));
    let number: u8 = number.parse().map_err(|_| unknown())?;
    Ok(match (kind, number) {
        ("DWORD", 0) => None,
        ("WORD", 0..2) => Some((16 * number, 16)),
        ("BYTE", 0..4) => Some((8 * number, 8)),
        _ => return Err(unknown()),
    })
}

fn permute(
    pattern: &str,
    values: &[u32],
    modifiers: &Modifiers<'_>,
    source: Operand,
    lanes: usize,
) -> Permute {
    let value = |at: usize| values.get(at).map_or(0, |value| *value as usize);
    let n = value(0);
    let from = |lane: usize| {
        let (row, at) = (lane & !15, lane & 15);
        let within = |from: usize| (from < 16).then(|| row + from);
        match pattern {
            "quad_perm" => Some((lane & !3) + (value(lane & 3) & 3)),
            "dpp8" => Some((lane & !7) + (value(lane & 7) & 7)),
            "row_shl" => within(at + n),
            "row_shr" => within(at.wrapping_sub(n)),
            "row_ror" => within((at + 16 - (n & 15)) % 16),
            "wave_shl" => Some(lane + 1).filter(|from| *from < lanes),
            "wave_shr" => lane.checked_sub(1),
            "wave_rol" => Some((lane + 1) % lanes),
            "wave_ror" => Some((lane + lanes - 1) % lanes),
            "row_mirror" => within(15 - at),
            "row_half_mirror" => Some((lane & !7) + 7 - (lane & 7)),
            "row_bcast" if n == 15 => row.checked_sub(1),
            "row_bcast" => (lane >= 32).then_some(31),
            "row_xmask" => within(at ^ (n & 15)),
            _ => within(n & 15),
        }
    };
    let mask = |name, at: usize| modifiers.number(name).unwrap_or(0xf) >> at & 1 == 1;
    let enabled = |lane: &usize| mask("row_mask", lane / 16) && mask("bank_mask", lane / 4 % 4);
    Permute {
        source,
        from: (0..lanes).map(from).collect(),
        enabled: (0..lanes)
            .filter(enabled)
            .fold(0, |all, lane| all | 1 << lane),
        // The assembler writes the set bit as 0 or as 1.
        zero: modifiers.get("bound_ctrl").is_some(),
    }
}

/// Returns `swizzle(SWAP,16)` as the bits of the instruction's offset.
fn swizzle(value: &str) -> Result<u32, String> {
    let inside = value.trim_start_matches("swizzle").trim_matches(['(', ')']);
    let (mode, rest) = inside.split_once(',').unwrap_or((inside, ""));
    let bits = |and: u32, or: u32, xor: u32| and | or << 5 | xor << 10;
    Ok(match (mode.trim(), numbers(rest).as_slice()) {
        ("QUAD_PERM", [a, b, c, d]) => 0x8000 | a | b << 2 | c << 4 | d << 6,
        ("SWAP", [size]) => bits(0x1f, 0, *size),
        ("REVERSE", [size]) => bits(0x1f, 0, size - 1),
        ("BROADCAST", [size, lane]) => bits(0x1f & !(size - 1), *lane, 0),
        ("BITMASK_PERM", _) => rest.trim().trim_matches('"').bytes().fold(0, |all, c| {
            let [and, or, xor] = [0, 5, 10].map(|shift| (all >> shift) << 1 & 0x1f);
            let [keeps, sets, flips] =
                ["pi", "1", "i"].map(|of| u32::from(of.contains(char::from(c))));
            bits(and | keeps, or | sets, xor | flips)
        }),
        _ => return Err(format!("`{value}` is no exchange of lanes")),
    })
}
