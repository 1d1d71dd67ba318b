//! Errors that end an execution.

use thiserror::Error;

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
    #[error("{what} of {bytes} bytes outside every buffer: lane {lane}, address {address:#x}")]
    Unmapped {
        what: &'static str,
        lane: usize,
        address: u64,
        bytes: usize,
    },
    #[error(
        "{what} of {bytes} bytes at byte {offset} of `{buffer}`, which has {length}: lane {lane}"
    )]
    OutOfBounds {
        what: &'static str,
        buffer: String,
        lane: usize,
        offset: i64,
        length: usize,
        bytes: usize,
    },
    #[error(
        "{register} is used, but the value that `{load}` ({place}) loads has not been waited for"
    )]
    NotWaited {
        register: String,
        load: String,
        place: String,
    },
    #[error(
        "lane {lane} of wave {} {did} LDS byte {address}, which wave {} {other_did} at {place} (`{instruction}`): no barrier is between them",
        wave + 1,
        other + 1
    )]
    Race {
        address: usize,
        lane: usize,
        wave: u32,
        did: &'static str,
        other: u32,
        other_did: &'static str,
        instruction: String,
        place: String,
    },
    #[error("a jump to {0:#x}, where there is no instruction")]
    BadJump(u64),
    #[error(
        "more than {0} instructions were executed: the kernel does not end, or the limit is too low"
    )]
    Endless(u64),
    #[error("{0}")]
    Unsupported(String),
}

impl Fault {
    pub(crate) fn out_of_bounds(
        what: &'static str,
        buffer: &str,
        lane: usize,
        offset: i64,
        [length, bytes]: [usize; 2],
    ) -> Box<Fault> {
        Box::new(Fault::OutOfBounds {
            what,
            buffer: buffer.to_owned(),
            lane,
            offset,
            length,
            bytes,
        })
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
