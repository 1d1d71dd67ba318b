//! Operands of instructions, in the form of the assembly.

/// Indices in a wave's scalar registers that have names.
const FLAT_SCRATCH: u16 = 102;
pub const VCC: u16 = 106;
/// The first of 16 registers of the trap handler. From RDNA 4 on, they hold the numbers of the workgroup.
pub(crate) const TTMP: u16 = 108;
pub const M0: u16 = 124;
pub const NULL: u16 = 125;
pub const EXEC: u16 = 126;

/// Upper halves of generic addresses that mean LDS and private memory.
pub(crate) const SHARED_APERTURE: u32 = 0x7fff_0000;
pub(crate) const PRIVATE_APERTURE: u32 = 0x7ffe_0000;

/// Names of special registers: bank, index and number of registers.
const NAMED: [(&str, Kind, u16, u16); 17] = [
    ("vcc", Kind::Scalar, VCC, 2),
    ("vcc_lo", Kind::Scalar, VCC, 1),
    ("vcc_hi", Kind::Scalar, VCC + 1, 1),
    ("exec", Kind::Scalar, EXEC, 2),
    ("exec_lo", Kind::Scalar, EXEC, 1),
    ("exec_hi", Kind::Scalar, EXEC + 1, 1),
    ("m0", Kind::Scalar, M0, 1),
    ("flat_scratch", Kind::Scalar, FLAT_SCRATCH, 2),
    ("flat_scratch_lo", Kind::Scalar, FLAT_SCRATCH, 1),
    ("flat_scratch_hi", Kind::Scalar, FLAT_SCRATCH + 1, 1),
    ("xnack_mask", Kind::Scalar, FLAT_SCRATCH + 2, 2),
    ("xnack_mask_lo", Kind::Scalar, FLAT_SCRATCH + 2, 1),
    ("xnack_mask_hi", Kind::Scalar, FLAT_SCRATCH + 3, 1),
    ("null", Kind::Scalar, NULL, 1),
    ("off", Kind::Off, 0, 0),
    ("scc", Kind::Scc, 0, 1),
    ("src_scc", Kind::Scc, 0, 1),
];

/// What stands before and behind an operand, and what it changes.
type Modifier = (&'static str, &'static str, fn(&mut Operand));

const MODIFIERS: [Modifier; 5] = [
    ("-", "", |operand| operand.negate = true),
    ("neg(", ")", |operand| operand.negate = true),
    ("|", "|", |operand| operand.absolute = true),
    ("abs(", ")", |operand| operand.absolute = true),
    ("sext(", ")", |operand| operand.part = Some((0, 32, true))),
];

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

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    pub kind: Kind,
    /// Index of the first register.
    pub index: u16,
    /// Number of 32-bit registers.
    pub width: u16,
    pub negate: bool,
    pub absolute: bool,
    /// Part of a 32-bit source: its first bit, its number of bits, and whether its sign is extended.
    pub part: Option<(u8, u8, bool)>,
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

    /// Creates a constant, or a label with its target.
    pub(crate) const fn with_value(kind: Kind, value: u64) -> Operand {
        let operand = Operand::new(kind, 0, 1);
        Operand { value, ..operand }
    }

    /// Returns the same operand from a later register on.
    pub(crate) fn after(self, registers: u16) -> Operand {
        let index = self.index + registers;
        Operand { index, ..self }
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
        let named = NAMED.iter().find(|(_, kind, index, width)| {
            (*kind, *index, *width) == (self.kind, self.index, self.width)
        });
        let (bank, index) = match (self.kind, named) {
            (_, Some(named)) => return named.0.to_owned(),
            (Kind::Vector, _) if self.index >= vectors => ("a", self.index - vectors),
            (Kind::Vector, _) => ("v", self.index),
            (_, None) if (TTMP..M0).contains(&self.index) => ("ttmp", self.index - TTMP),
            (_, None) => ("s", self.index),
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
    for (start, end, modify) in MODIFIERS {
        let inside = text
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end));
        if let Some(inside) = inside {
            let mut operand = parse(inside, constants)?;
            modify(&mut operand);
            return Some(operand);
        }
    }
    let aperture = match text {
        "src_shared_base" => Some(SHARED_APERTURE),
        "src_private_base" => Some(PRIVATE_APERTURE),
        _ => None,
    };
    if let Some(upper) = aperture {
        return Some(Operand::with_value(Kind::Constant, u64::from(upper) << 32));
    }
    if let Some((_, kind, index, width)) = NAMED.iter().find(|named| named.0 == text) {
        return Some(Operand::new(*kind, *index, *width));
    }
    let (bank, rest) = match text.strip_prefix("ttmp") {
        Some(rest) => ("ttmp", rest),
        None => text.split_at_checked(1)?,
    };
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
        "ttmp" if index + width <= 16 => Some(Operand::new(Kind::Scalar, index + TTMP, width)),
        "s" if index + width <= VCC => Some(Operand::new(Kind::Scalar, index, width)),
        _ => None,
    }
}

/// Parses a whole number, decimal or hexadecimal, possibly negative.
pub(crate) fn integer(text: &str) -> Option<u64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    })
}

fn number(text: &str, constants: ConstantType) -> Option<Operand> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = if digits.contains('.') {
        let value: f64 = text.parse().ok()?;
        match constants {
            ConstantType::F64 => value.to_bits(),
            ConstantType::F16 => u64::from(crate::float::to_half(value as f32)),
            ConstantType::Bits => u64::from((value as f32).to_bits()),
        }
    } else {
        let value = integer(text)?;
        // A literal of an f64 instruction is the upper half of the number; small integers keep their value.
        let is_literal = !(-16..=64).contains(&value.cast_signed()) && value <= u64::from(u32::MAX);
        value
            << if constants == ConstantType::F64 && is_literal {
                32
            } else {
                0
            }
    };
    Some(Operand::with_value(Kind::Constant, value))
}

/// Splits `a, b[1,2], c(d, e)` at the commas outside brackets.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = text.split(move |c: char| {
        depth += i32::from(matches!(c, '[' | '(')) - i32::from(matches!(c, ']' | ')'));
        c == ',' && depth == 0
    });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}
