//! Decoded instructions. Each is decoded once, and one function executes it.

use serde::Serialize;

use crate::core::Core;
use crate::error::Fault;
use crate::operand::Operand;
use crate::program::Location;

/// Executes one instruction for one wave.
pub(crate) type Run = fn(&mut Core<'_>, &Instruction) -> Result<(), Box<Fault>>;

/// The unit that an instruction occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    Valu,
    Salu,
    Matrix,
    /// Global memory, scratch, and loads of scalars.
    Memory,
    Lds,
    Branch,
    /// Waits, barriers, and hints to the scheduler.
    Wait,
}

impl Group {
    pub const ALL: [Group; 7] = [
        Group::Valu,
        Group::Salu,
        Group::Matrix,
        Group::Memory,
        Group::Lds,
        Group::Branch,
        Group::Wait,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Group::Valu => "VALU",
            Group::Salu => "SALU",
            Group::Matrix => "matrix",
            Group::Memory => "memory",
            Group::Lds => "LDS",
            Group::Branch => "branch",
            Group::Wait => "wait, hint",
        }
    }

    pub(crate) fn from_name(name: &str) -> Group {
        let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        if starts(&["v_mfma", "v_wmma"]) {
            Group::Matrix
        } else if starts(&["v_"]) {
            Group::Valu
        } else if starts(&["ds_"]) {
            Group::Lds
        } else if starts(&[
            "s_load", "global_l", "global_s", "global_a", "flat_", "scratch_",
        ]) || starts(&["buffer_l", "buffer_s", "buffer_a"])
        {
            Group::Memory
        } else if starts(&["s_cbranch", "s_branch", "s_setpc", "s_swappc", "s_endpgm"]) {
            Group::Branch
        } else if starts(&[
            "s_wait",
            "s_barrier",
            "s_nop",
            "s_delay",
            "s_clause",
            "s_sleep",
        ]) || starts(&[
            "s_setprio",
            "s_set_inst",
            "s_sendmsg",
            "s_icache",
            "buffer_",
            "global_",
        ]) {
            Group::Wait
        } else {
            Group::Salu
        }
    }
}

/// The memory that an instruction reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    Global,
    Lds,
    /// Private memory of a lane.
    Scratch,
    /// Loads into scalar registers.
    Scalar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    Sub,
    SignedMin,
    SignedMax,
    UnsignedMin,
    UnsignedMax,
    And,
    Or,
    Xor,
    Swap,
    CompareSwap,
    AddF32,
    AddF64,
    MinF32,
    MaxF32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    Load,
    Store,
    Atomic(Atomic),
}

/// How an instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryOp {
    pub space: Space,
    pub kind: MemoryKind,
    /// Size of one element in bytes.
    pub bytes: u8,
    pub signed: bool,
    /// True if the instruction moves the upper half of a register (`d16_hi`), false if the lower half (`d16`). `None`
    /// if it moves whole registers.
    pub half: Option<bool>,
    /// Unit in bytes of the two offsets of an instruction with two elements; 0 if it has one element.
    pub pair: u16,
    pub flat: bool,
    pub buffer: bool,
}

/// Rare parts of an instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Special {
    pub permute: Option<Permute>,
    /// The part of the destination that is written. The rest becomes zero or stays.
    pub part: Option<(u8, u8, bool)>,
    pub clamp: bool,
    /// Factor by which the result is multiplied.
    pub factor: Option<f32>,
    /// The other half of a dual instruction.
    pub second: Option<Instruction>,
}

/// Data parallel primitives (DPP): the lanes from which lanes take their first source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Permute {
    pub pattern: Pattern,
    pub row_mask: u8,
    pub bank_mask: u8,
    /// True if lanes without a source get zero. Otherwise they do not take part.
    pub zero: bool,
    pub source: Operand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Quad([u8; 4]),
    RowShl(u8),
    RowShr(u8),
    RowRor(u8),
    WaveShl,
    WaveShr,
    WaveRol,
    WaveRor,
    Mirror,
    HalfMirror,
    Broadcast15,
    Broadcast31,
    Share(u8),
    Xmask(u8),
    Eight([u8; 8]),
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Text of the instruction in the assembly.
    pub text: String,
    /// Name of the instruction, without operands.
    pub name: String,
    pub group: Group,
    pub location: Location,
    /// Registers and constants, destinations first.
    pub operands: Vec<Operand>,
    /// Number of operands that the instruction writes. They come first.
    pub(crate) destinations: u8,
    pub(crate) run: Run,
    pub(crate) memory: Option<MemoryOp>,
    pub(crate) offsets: [i32; 2],
    /// Further data for the executing function: a comparison, the counters of a wait, or selections of packed operands.
    pub(crate) extra: [u32; 4],
    pub(crate) special: Option<Box<Special>>,
}

impl Instruction {
    /// Returns the registers that the instruction writes, besides EXEC, VCC and SCC.
    pub fn written(&self) -> impl Iterator<Item = &Operand> {
        let own = self.operands.iter().take(usize::from(self.destinations));
        let second = self.special.iter().filter_map(|s| s.second.as_ref());
        let second = second.flat_map(|i| i.operands.iter().take(usize::from(i.destinations)));
        own.chain(second).filter(|operand| operand.is_register())
    }

    /// Returns the bytes that one lane moves. `None` if the instruction reaches no memory.
    pub fn bytes_of_a_lane(&self) -> Option<u32> {
        let memory = self.memory.as_ref()?;
        Some(u32::from(memory.bytes) * if memory.pair > 0 { 2 } else { 1 })
    }
}
