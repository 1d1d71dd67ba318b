//! How a run ended, in words, and what to do about it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::run::Exited;
use crate::session::event::RunExit;
use crate::train::event::{Failure, FailureCode};

/// A run that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// None where the program could not even be started.
    pub exit: Option<RunExit>,
    /// In a sentence.
    pub words: String,
    /// What to do; none where all went well.
    pub remedy: Option<String>,
    /// Last lines of the error stream; empty where it is silent.
    pub stderr: String,
}

impl Ending {
    /// Of a child that was waited for. `asked_to` says that the learner stopped it.
    pub fn of(exited: &Exited, asked_to: bool) -> Self {
        let failure = exited.folder.record.error.as_ref();
        let exit = run_exit(exited.status);
        let (words, remedy) = match &exit {
            RunExit::Status(0) => ("The run ended as planned.".to_string(), None),
            _ if asked_to => ("The run was stopped.".to_string(), None),
            exit => failed(exit, failure, &exited.stderr),
        };
        Self {
            exit: Some(exit),
            words,
            remedy,
            stderr: exited.stderr.clone(),
        }
    }

    /// Of a child that could not be started or read.
    pub fn not_started(error: &anyhow::Error) -> Self {
        Self {
            exit: None,
            words: format!("The run could not be started: {error:#}."),
            remedy: Some(
                "Check that the program and its launcher exist and that the disk is not full."
                    .into(),
            ),
            stderr: String::new(),
        }
    }

    /// Of a recording that could not be read or kept.
    pub fn not_played(error: &anyhow::Error) -> Self {
        Self {
            exit: None,
            words: format!("The recording could not be played: {error:#}."),
            remedy: Some("Check that the disk is not full; `tinyllama-tutor recordings list` names what can be played.".into()),
            stderr: String::new(),
        }
    }

    pub fn is_success(&self) -> bool {
        self.exit == Some(RunExit::Status(0))
    }
}

pub fn run_exit(status: ExitStatus) -> RunExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => RunExit::Status(code),
        (None, Some(signal)) => RunExit::Signal(signal),
        (None, None) => RunExit::Lost,
    }
}

fn failed(exit: &RunExit, failure: Option<&Failure>, stderr: &str) -> (String, Option<String>) {
    let how = match exit {
        RunExit::Status(code) => format!("The run ended with status {code}"),
        RunExit::Signal(signal) => format!("The run was ended by {}", signal_name(*signal)),
        RunExit::Lost => "The run was lost".to_string(),
    };
    match failure {
        Some(failure) => (
            format!("{how}: {}", failure.message),
            Some(failure.remedy.clone()).filter(|remedy| !remedy.is_empty()),
        ),
        None => (format!("{how}."), Some(guess(exit, stderr))),
    }
}

/// What usually helps when the run itself did not live to say it.
fn guess(exit: &RunExit, stderr: &str) -> String {
    let lower = stderr.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if says(&[
        "out of memory",
        "outofmemory",
        "cannot allocate",
        "can't allocate",
    ]) {
        return "The device or the machine ran out of memory. Lower --batch-size or --seq-len, or end other programs."
            .into();
    }
    if says(&[
        "memory access fault",
        "illegal memory access",
        "page fault",
        "gpu hang",
        "device lost",
    ]) {
        return "The GPU refused an access to memory or was reset. `tinyllama-tutor doctor` shows the driver's state; \
                with --backend cpu the lesson goes on without it."
            .into();
    }
    match exit {
        RunExit::Signal(libc::SIGKILL) => "Nobody says why. Usually the system ran out of memory and chose this process \
             (`dmesg` tells), or a scheduler's time was up. Lower --batch-size, or run it again."
            .into(),
        RunExit::Signal(libc::SIGSEGV | libc::SIGABRT | libc::SIGBUS | libc::SIGILL) => {
            "The program or a driver crashed. Run it again; if it happens twice, take --backend cpu and report the lines below."
                .into()
        }
        RunExit::Status(2) => "The flags were not understood: change them and run it again.".into(),
        RunExit::Status(126 | 127) => "The program, or its launcher, was not found on this machine.".into(),
        _ => "The lines below say more. `tinyllama-tutor doctor` checks the machine.".into(),
    }
}

/// `signal 9 (KILL)`.
pub fn signal_name(signal: i32) -> String {
    let name = signal_hook::low_level::signal_name(signal)
        .map(|name| name.trim_start_matches("SIG"))
        .map_or(String::new(), |name| format!(" ({name})"));
    format!("signal {signal}{name}")
}

/// The failure code in a word or two, for a heading.
pub fn failure_words(code: FailureCode) -> &'static str {
    match code {
        FailureCode::Usage => "wrong usage",
        FailureCode::Environment => "something is missing on this machine",
        FailureCode::OutOfMemory => "out of memory",
        FailureCode::Device => "the device failed",
        FailureCode::NotFinite => "the loss is no longer finite",
        FailureCode::Interrupted => "interrupted",
        FailureCode::Internal => "a bug of this program",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_named_with_what_usually_helps() {
        let (words, remedy) = failed(&RunExit::Signal(libc::SIGKILL), None, "");
        assert!(words.contains("signal 9 (KILL)"), "{words}");
        assert!(remedy.is_some_and(|text| text.contains("dmesg")));
        let (_, remedy) = failed(
            &RunExit::Signal(libc::SIGABRT),
            None,
            "Memory access fault by GPU node-1",
        );
        assert!(remedy.is_some_and(|text| text.contains("doctor")));
        let failure = Failure {
            code: FailureCode::OutOfMemory,
            message: "no room".into(),
            remedy: "Lower --batch-size.".into(),
        };
        let (words, remedy) = failed(&RunExit::Status(1), Some(&failure), "");
        assert!(words.contains("no room"));
        assert_eq!(remedy.as_deref(), Some("Lower --batch-size."));
    }
}
