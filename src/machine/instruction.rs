//! Decoded instructions. Each is decoded once, and one function executes it.

use serde::Serialize;

use crate::core::Core;
use crate::error::Fault;
use crate::operand::Operand;
use crate::program::Location;
use crate::shadow::UseKind;

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

/// Beginnings of names. The first one that fits decides; other instructions are scalar arithmetic.
const GROUPS: [(Group, &str); 6] = [
    (Group::Matrix, "v_mfma v_wmma"),
    (Group::Valu, "v_"),
    (Group::Lds, "ds_"),
    (
        Group::Memory,
        "s_load global_l global_s global_a flat_ scratch_ buffer_l buffer_s buffer_a",
    ),
    (
        Group::Branch,
        "s_cbranch s_branch s_setpc s_swappc s_endpgm",
    ),
    (
        Group::Wait,
        "s_wait s_barrier s_nop s_delay s_clause s_sleep s_setprio s_set_inst s_sendmsg s_icache buffer_ global_",
    ),
];

impl Group {
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
        let fits =
            |(_, starts): &&(Group, &str)| starts.split(' ').any(|start| name.starts_with(start));
        GROUPS
            .iter()
            .find(fits)
            .map_or(Group::Salu, |found| found.0)
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

/// Returns the value that an atomic operation stores: from the old value, the data, and the value to compare with.
pub(crate) type Atomic = fn(u64, u64, u64) -> u64;

#[derive(Clone, Copy, Debug)]
pub(crate) enum MemoryKind {
    Load,
    Store,
    Atomic(Atomic),
}

/// How an instruction accesses memory.
#[derive(Clone, Copy, Debug)]
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
    /// True for a load or store that is atomic between workgroups.
    pub is_coherent: bool,
    /// True if the compiler saves a register, or loads it again.
    pub is_spill: bool,
}

impl MemoryOp {
    /// Returns what a lane does, and whether it is atomic.
    pub fn use_kind(&self) -> (UseKind, bool) {
        match self.kind {
            MemoryKind::Load => (UseKind::Read, self.is_coherent),
            MemoryKind::Store => (UseKind::Write, self.is_coherent),
            MemoryKind::Atomic(_) => (UseKind::Atomic, true),
        }
    }

    pub fn stores(&self) -> bool {
        !matches!(self.kind, MemoryKind::Load)
    }

    pub fn is_atomic(&self) -> bool {
        matches!(self.kind, MemoryKind::Atomic(_))
    }
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
#[derive(Clone, Debug)]
pub(crate) struct Permute {
    pub source: Operand,
    /// For each lane the lane that it fetches from, if there is one.
    pub from: Vec<Option<usize>>,
    /// One bit for each lane that the masks of rows and banks enable.
    pub enabled: u64,
    /// True if lanes without a source get zero. Otherwise they do not take part.
    pub zero: bool,
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
    /// True if a barrier of the wave comes before it, which takes no instruction.
    pub(crate) is_after_wave_barrier: bool,
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
    fn halves(&self) -> impl Iterator<Item = &Instruction> {
        let second = self
            .special
            .iter()
            .filter_map(|special| special.second.as_ref());
        std::iter::once(self).chain(second)
    }

    /// Returns whether two accesses of the same bytes need an order. Neither two loads nor two atomic operations do.
    pub fn needs_order(&self, other: &Self) -> bool {
        let kinds = self.memory.as_ref().zip(other.memory.as_ref());
        kinds.is_some_and(|(one, other)| {
            let kinds = (&one.kind, &other.kind);
            !matches!(
                kinds,
                (MemoryKind::Load, MemoryKind::Load)
                    | (MemoryKind::Atomic(_), MemoryKind::Atomic(_))
            )
        })
    }

    /// Returns whether a wave waits here for the others of its workgroup.
    pub fn is_barrier(&self) -> bool {
        matches!(&*self.name, "s_barrier" | "s_barrier_wait")
    }

    /// Returns what the instruction does to memory, if it reaches any.
    pub fn verb(&self) -> Option<&'static str> {
        Some(match self.memory.as_ref()?.kind {
            MemoryKind::Load => "reads",
            MemoryKind::Store => "writes",
            MemoryKind::Atomic(_) => "updates",
        })
    }

    /// Returns the registers that the instruction writes, besides EXEC, VCC and SCC.
    pub fn written(&self) -> impl Iterator<Item = &Operand> {
        let all = self.halves();
        let all = all.flat_map(|i| i.operands.iter().take(usize::from(i.destinations)));
        all.filter(|operand| operand.is_register())
    }

    /// Returns the registers that the instruction reads, besides EXEC, VCC and SCC.
    pub fn read(&self) -> impl Iterator<Item = &Operand> {
        let all = self.halves();
        let all = all.flat_map(|i| i.operands.iter().skip(usize::from(i.destinations)));
        let special = self.special.iter();
        let permuted = special.filter_map(|special| Some(&special.permute.as_ref()?.source));
        all.chain(permuted).filter(|operand| operand.is_register())
    }
}
