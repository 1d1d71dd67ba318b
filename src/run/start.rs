//! How a run comes about, as a value: whoever supervises it need not know.

use std::ffi::OsString;

/// What is to be started.
#[derive(Clone, Debug)]
pub enum Start {
    /// A child process: fusion is a setting of the whole process, a driver's crash ends only the child, and a profiler or a
    /// scheduler can be put in front of it.
    Command {
        words: Vec<OsString>,
        /// Whether it runs on this machine, where its power can be read.
        is_local: bool,
    },
    /// The stream of a run of another time and place, played as it went.
    Recording(Tape),
}

/// A recorded stream.
#[derive(Clone, Debug)]
pub struct Tape {
    /// What plays it again, as a run's record has it.
    pub command: Vec<String>,
    /// Each line with the seconds since the start at which it was printed; they never go back.
    pub lines: Vec<(f64, String)>,
}

impl Start {
    /// The command line as a record keeps it.
    pub(super) fn printable(&self) -> Vec<String> {
        match self {
            Start::Command { words, .. } => {
                let text = |word: &OsString| word.to_string_lossy().into_owned();
                words.iter().map(text).collect()
            }
            Start::Recording(tape) => tape.command.clone(),
        }
    }
}
