//! Errors that end an execution.

use thiserror::Error;

use crate::instruction::Space;
use crate::mistake::Place;
use crate::shadow::UseKind;

/// An error in the text: it is not AMD GPU assembly that this crate can execute.
#[derive(Debug, Error)]
pub enum ParseError {
    #[error("the assembly has no kernel: it is not of an AMD GPU, or the compiler was interrupted")]
    NoKernel,
    #[error("instruction {name} is not known to this emulator (assembly line {line}, {place})")]
    UnknownInstruction {
        name: String,
        line: usize,
        place: String,
    },
    #[error("assembly line {line} ({place}): `{text}`: {reason}")]
    Malformed {
        text: String,
        line: usize,
        place: String,
        reason: String,
    },
}

/// The reason why an instruction could not be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("{} of {bytes} bytes outside every buffer: lane {lane}, address {address:#x}", access(*kind, Space::Global))]
    Unmapped {
        kind: UseKind,
        lane: usize,
        address: u64,
        bytes: usize,
    },
    #[error(
        "{} of {} bytes at byte {} of `{}`, which has {}: lane {lane}",
        access(*kind, place.space),
        place.bytes,
        place.offset,
        place.array,
        place.length
    )]
    OutOfBounds {
        kind: UseKind,
        place: Place,
        lane: usize,
    },
    #[error(
        "{register} is used, but the value that `{load}` ({place}) loads has not been waited for"
    )]
    NotWaited {
        register: String,
        load: String,
        place: String,
    },
    #[error("{waiting} threads wait at a barrier that {missing} threads do not reach")]
    BarrierMissed {
        waiting: u32,
        missing: u32,
        /// Number of one thread that does not reach it.
        thread: u32,
    },
    #[error("threads of a workgroup wait at two barriers, the other one at {place}")]
    TwoBarriers {
        /// Index of the other barrier.
        other_pc: u32,
        place: String,
    },
    #[error("lane {lane} calls `{name}`, which is not in the program")]
    Called {
        name: String,
        lane: usize,
        /// The first four registers of the lane, which hold the first arguments.
        arguments: [u32; 4],
    },
    #[error("lane {lane} traps")]
    Trap { lane: usize },
    #[error("a jump to {0:#x}, where there is no instruction")]
    BadJump(u64),
    #[error(
        "more than {0} instructions were executed: the kernel does not end, or the limit is too low"
    )]
    Endless(u64),
    #[error("{0}")]
    Unsupported(String),
}

/// Returns `a load`, `an LDS store` and the like.
fn access(kind: UseKind, space: Space) -> &'static str {
    match (space, kind) {
        (Space::Scratch, _) => "an access",
        (Space::Lds, UseKind::Read) => "an LDS load",
        (Space::Lds, UseKind::Write) => "an LDS store",
        (Space::Lds, UseKind::Atomic) => "an LDS atomic",
        (_, UseKind::Read) => "a load",
        (_, UseKind::Write) => "a store",
        (_, UseKind::Atomic) => "an atomic",
    }
}

impl Fault {
    /// Returns the lane that made the mistake, if one did.
    pub fn lane(&self) -> Option<usize> {
        match self {
            Fault::Unmapped { lane, .. }
            | Fault::OutOfBounds { lane, .. }
            | Fault::Called { lane, .. }
            | Fault::Trap { lane } => Some(*lane),
            _ => None,
        }
    }
}

/// A fault, and the instruction that caused it.
#[derive(Clone, Debug, Error)]
#[error("{place}: `{instruction}`, workgroup {workgroup:?}, wave {}: {fault}", wave + 1)]
pub struct ExecutionError {
    pub fault: Fault,
    pub instruction: String,
    /// Source place, such as `kernel.hip:12`.
    pub place: String,
    /// Index of the instruction in the program.
    pub pc: u32,
    pub workgroup: [u32; 3],
    /// Number of the wave, from 0. Messages count from 1.
    pub wave: u32,
    /// The thread that made the mistake, or the first one of the wave that takes part.
    pub thread: [u32; 3],
}

/// An error of a launch: it does not fit the program, or its execution failed.
#[derive(Debug, Error)]
pub enum LaunchError {
    #[error("the assembly has no kernel `{0}`")]
    NoKernel(String),
    #[error("kernel `{kernel}`: {reason}")]
    Arguments { kernel: String, reason: String },
    #[error(transparent)]
    Execution(#[from] Box<ExecutionError>),
}
