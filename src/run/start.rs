//! How a run comes about, as a value: whoever supervises it need not know.

use std::ffi::OsString;
use std::path::PathBuf;

use super::spec::{RunSpec, UsageError};

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

/// How this machine starts runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Words before the program, such as `srun --gres=gpu:1`.
    pub words: Vec<OsString>,
    /// The program that trains.
    pub program: PathBuf,
}

impl Launcher {
    /// This very program, behind the words of `launcher` where there are some.
    ///
    /// # Errors
    /// When the words cannot be told apart.
    pub fn of_this_program(launcher: Option<&str>) -> Result<Self, UsageError> {
        let words = launcher.unwrap_or_default();
        let words = shlex::split(words).ok_or_else(|| {
            UsageError(format!(
                "--launcher {words}: a quotation mark is not closed"
            ))
        })?;
        Ok(Launcher {
            words: words.into_iter().map(OsString::from).collect(),
            // Where the system does not tell, the shell's way of finding it is left.
            program: std::env::current_exe().unwrap_or_else(|_| "tinyllama-tutor".into()),
        })
    }

    /// The command line of this program with `arguments`.
    pub fn command<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Vec<OsString> {
        let mut words = self.words.clone();
        words.push(self.program.clone().into());
        words.extend(arguments.into_iter().map(Into::into));
        words
    }

    /// `run` on this program, without what goes before it.
    pub fn program_for(
        &self,
        target: &str,
        flags: impl IntoIterator<Item = String>,
    ) -> Vec<OsString> {
        let mut words = vec![self.program.clone().into(), "run".into(), target.into()];
        words.extend(flags.into_iter().map(OsString::from));
        words
    }

    /// A run, its events on the standard output.
    pub fn run(&self, spec: &RunSpec) -> Start {
        let before = ["run", spec.target.name, "--events"].map(str::to_owned);
        Start::Command {
            words: self.command(before.into_iter().chain(spec.words())),
            is_local: self.words.is_empty(),
        }
    }
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
