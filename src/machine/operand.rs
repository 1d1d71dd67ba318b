//! Operands of instructions, in the form of the assembly.

/// Indices in a wave's scalar registers that have names.
pub const VCC: u16 = 106;
pub const M0: u16 = 124;
pub const NULL: u16 = 125;
pub const EXEC: u16 = 126;

/// First number of the accumulation registers, until the program knows how many vector registers it uses.
pub(crate) const ACCUMULATORS: u16 = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Vector,
    Scalar,
    /// The condition code of a wave, read as a number.
    Scc,
    Constant,
    /// The value that data parallel primitives (DPP) fetched from another lane.
    Permuted,
    /// An instruction of the program.
    Label,
    /// `off`, which means no address register.
    Off,
}

/// Part of a 32-bit source: the bytes from `shift / 8`, zero-extended or sign-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub shift: u8,
    pub bits: u8,
    pub signed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    pub kind: Kind,
    /// Index of the first register.
    pub index: u16,
    /// Number of 32-bit registers.
    pub width: u16,
    pub negate: bool,
    pub absolute: bool,
    pub part: Option<Part>,
    /// Bits of a constant, or the target of a label.
    pub value: u64,
}

impl Operand {
    pub const fn new(kind: Kind, index: u16, width: u16) -> Operand {
        Operand {
            kind,
            index,
            width,
            negate: false,
            absolute: false,
            part: None,
            value: 0,
        }
    }

    pub const fn constant(value: u64) -> Operand {
        Operand {
            value,
            ..Operand::new(Kind::Constant, 0, 1)
        }
    }

    pub fn is_register(&self) -> bool {
        matches!(self.kind, Kind::Vector | Kind::Scalar)
    }

    pub(crate) fn is_modified(&self) -> bool {
        self.negate || self.absolute || self.part.is_some()
    }

    /// Formats a name such as `v[6:7]`. `vectors` is the number of vector registers; it determines the names of
    /// accumulation registers.
    pub fn name(&self, vectors: u16) -> String {
        let (bank, index) = match self.kind {
            Kind::Vector if self.index >= vectors => ("a", self.index - vectors),
            Kind::Vector => ("v", self.index),
            Kind::Scalar => match self.index {
                VCC => return "vcc".into(),
                M0 => return "m0".into(),
                EXEC => return "exec".into(),
                index => ("s", index),
            },
            _ => return String::new(),
        };
        match self.width {
            0 | 1 => format!("{bank}{index}"),
            width => format!("{bank}[{index}:{}]", index + width - 1),
        }
    }
}

/// The way in which constants of an instruction become bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantType {
    Bits,
    F64,
    F16,
}

/// Parses an operand. Returns `None` if `text` is something else (a symbol, a modifier).
pub(crate) fn parse(text: &str, constants: ConstantType) -> Option<Operand> {
    if let Some(operand) = number(text, constants) {
        return Some(operand);
    }
    if let Some(rest) = text.strip_prefix('-') {
        return parse(rest, constants).map(|operand| Operand {
            negate: true,
            ..operand
        });
    }
    let inside = |start: &str, end: &str| text.strip_prefix(start)?.strip_suffix(end);
    if let Some(rest) = inside("|", "|").or(inside("abs(", ")")) {
        return parse(rest, constants).map(|operand| Operand {
            absolute: true,
            ..operand
        });
    }
    if let Some(rest) = inside("neg(", ")") {
        return parse(rest, constants).map(|operand| Operand {
            negate: true,
            ..operand
        });
    }
    if let Some(rest) = inside("sext(", ")") {
        let part = Part {
            shift: 0,
            bits: 32,
            signed: true,
        };
        return parse(rest, constants).map(|operand| Operand {
            part: Some(part),
            ..operand
        });
    }
    let scalar = |index, width| Some(Operand::new(Kind::Scalar, index, width));
    match text {
        "off" => return Some(Operand::new(Kind::Off, 0, 0)),
        "vcc" => return scalar(VCC, 2),
        "vcc_lo" => return scalar(VCC, 1),
        "vcc_hi" => return scalar(VCC + 1, 1),
        "exec" => return scalar(EXEC, 2),
        "exec_lo" => return scalar(EXEC, 1),
        "exec_hi" => return scalar(EXEC + 1, 1),
        "m0" => return scalar(M0, 1),
        "null" => return scalar(NULL, 1),
        "scc" | "src_scc" => return Some(Operand::new(Kind::Scc, 0, 1)),
        _ => {}
    }
    let (bank, rest) = text.split_at_checked(1)?;
    let (index, width) = match rest.strip_prefix('[') {
        Some(range) => {
            let range = range.strip_suffix(']')?;
            let (first, last) = range.split_once(':').unwrap_or((range, range));
            let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
            (first, last.checked_sub(first)? + 1)
        }
        None => (rest.parse().ok()?, 1),
    };
    match bank {
        "v" if index + width <= 256 => Some(Operand::new(Kind::Vector, index, width)),
        "a" if index + width <= 256 => {
            Some(Operand::new(Kind::Vector, index + ACCUMULATORS, width))
        }
        "s" if index + width <= VCC => scalar(index, width),
        _ => None,
    }
}

fn number(text: &str, constants: ConstantType) -> Option<Operand> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if digits.contains('.') && !digits.starts_with("0x") {
        let value: f64 = text.parse().ok()?;
        return Some(Operand::constant(match constants {
            ConstantType::F64 => value.to_bits(),
            ConstantType::F16 => u64::from(crate::float::to_half(value as f32)),
            ConstantType::Bits => u64::from((value as f32).to_bits()),
        }));
    }
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    let value = if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    };
    // A literal of an f64 instruction is the upper half of the number; small integers keep their value.
    let is_inline = (-16..=64).contains(&value.cast_signed());
    Some(Operand::constant(match constants {
        ConstantType::F64 if !is_inline && value <= u64::from(u32::MAX) => value << 32,
        _ => value,
    }))
}

/// Splits `a, b[1,2], c(d, e)` at the commas outside brackets.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut parts = vec![];
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}
