//! The start of a run as a value. The supervisor need not know its kind.

use std::ffi::{OsStr, OsString};
use std::io;

use thiserror::Error;

use super::round::RoundRun;

/// A program that this machine cannot start. Most often it belongs to a launcher.
#[derive(Debug, Error)]
#[error("cannot start {program}: {why}")]
pub struct NotStarted {
    program: String,
    why: io::Error,
}

impl NotStarted {
    pub fn from_program(program: &OsStr) -> impl FnOnce(io::Error) -> NotStarted {
        let program = program.to_string_lossy().into_owned();
        move |why| NotStarted { program, why }
    }

    pub fn remedy(&self) -> &'static str {
        "If it belongs to a launcher, correct the launcher's command, or make runs on this machine with `--launcher local`."
    }
}

/// A way to start a run.
#[derive(Clone, Debug)]
pub enum RunStart {
    /// A child process, for three reasons. Fusion is a setting of the whole process. A driver's crash ends only the child.
    /// A profiler or a scheduler can be put in front of it.
    Command {
        argv: Vec<OsString>,
        /// True if it runs on this machine, so that its power can be read.
        is_local: bool,
    },
    /// A child process of this machine that takes turns with another.
    InTurns(RoundRun),
    /// The stream of an earlier run, played with its timing.
    Recording(Tape),
}

/// A recorded stream.
#[derive(Clone, Debug)]
pub struct Tape {
    /// Command that plays it again, for the run's record.
    pub command: Vec<String>,
    /// Each line with the seconds since the start at which it was printed. The seconds never decrease.
    pub lines: Vec<(f64, String)>,
}

impl RunStart {
    /// The command line of a run that this machine starts.
    pub fn argv(&self) -> Option<&[OsString]> {
        match self {
            RunStart::Command { argv, .. } | RunStart::InTurns(RoundRun { argv, .. }) => Some(argv),
            RunStart::Recording(_) => None,
        }
    }

    /// The command line as a record stores it.
    pub(super) fn printable(&self) -> Vec<String> {
        match self {
            RunStart::Command { argv, .. } | RunStart::InTurns(RoundRun { argv, .. }) => {
                printable(argv)
            }
            RunStart::Recording(tape) => tape.command.clone(),
        }
    }
}

pub(super) fn printable(argv: &[OsString]) -> Vec<String> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    argv.iter().map(text).collect()
}
