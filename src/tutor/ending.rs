//! Describes how a run ended, and what to do about it.

use std::io;

use tinyllama_base::file::is_full;
use tinyllama_contract::flags::UsageError;
use tinyllama_contract::{Failure, FailureCode};
use tinyllama_runs::{EndedRun, RunExit, signal_name};

const WRONG_FLAGS: &str = "The flags are not valid: change them and run it again.";

/// The end of a run, described for its learner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunEnding {
    /// `None` if the program could not even be started.
    pub exit: Option<RunExit>,
    /// Describes what happened, in a sentence.
    pub message: String,
    /// Remedy; `None` if the run succeeded.
    pub remedy: Option<String>,
    /// Last lines of the error stream; empty if the run wrote none.
    pub stderr: String,
    /// True if the learner or the tutor asked the run to end.
    pub stopped: bool,
}

impl RunEnding {
    /// How it ended, in a few words. `code` is the failure that the run reported.
    pub fn reason(&self, code: Option<FailureCode>) -> String {
        match (self.exit, code) {
            (None, _) => "did not start".into(),
            _ if self.stopped => "stopped".into(),
            (Some(RunExit::SUCCESS), _) => "ok".into(),
            (Some(RunExit::Status(_)), Some(code)) => failure_name(code).into(),
            (Some(RunExit::Status(status)), None) => format!("ended with status {status}"),
            (Some(RunExit::Signal(signal)), _) => format!("ended by {}", signal_name(signal)),
            (Some(RunExit::Lost), _) => "lost".into(),
        }
    }

    pub fn from_run(ended: &EndedRun) -> Self {
        let only = |message: &str| (message.to_string(), None);
        let (message, remedy) = match (ended.exit, ended.is_recording) {
            (RunExit::SUCCESS, true) => only("The recording was played to its end."),
            (RunExit::SUCCESS, false) => only("The run ended as planned."),
            (_, true) if ended.stopped => only("The recording was stopped."),
            (_, false) if ended.stopped => only("The run was stopped."),
            (_, true) => only("The recorded run did not end as planned."),
            (exit, false) => failed(exit, ended.run.reported.error.as_ref(), &ended.stderr),
        };
        Self {
            exit: Some(ended.exit),
            message,
            remedy,
            stderr: ended.stderr.clone(),
            stopped: ended.stopped,
        }
    }

    /// Describes the ending of an earlier day's run from its files. `exit` is `None` if the run never came to an end.
    pub fn kept(exit: Option<RunExit>, failure: Option<&Failure>, stderr: String) -> Self {
        let exit = exit.unwrap_or(RunExit::Lost);
        let stopped = matches!(
            exit,
            RunExit::Status(130 | 143) | RunExit::Signal(libc::SIGINT | libc::SIGTERM)
        ) && failure.is_none();
        let (message, remedy) = match exit {
            RunExit::SUCCESS => ("The run ended as planned.".into(), None),
            _ if stopped => ("The run was stopped.".into(), None),
            RunExit::Lost => (
                "The tutor ended before this run did: what it measured until then is kept.".into(),
                Some("Start it again.".into()),
            ),
            exit => failed(exit, failure, &stderr),
        };
        Self {
            exit: Some(exit),
            message,
            remedy,
            stderr,
            stopped,
        }
    }

    /// Joins the description and the remedy.
    pub fn in_full(&self) -> String {
        itertools::join([&self.message].into_iter().chain(&self.remedy), " ")
    }

    /// Describes a run or a recording that could not be started, read or stored.
    pub fn not_started(error: &anyhow::Error, is_recording: bool) -> Self {
        let full = error.chain().filter_map(|cause| cause.downcast_ref());
        let is_full = full
            .into_iter()
            .any(|cause: &io::Error| is_full(cause.kind()));
        let (what, remedy) = if is_full {
            let what = match is_recording {
                true => "recording could not be kept",
                false => "run could not be kept and was ended",
            };
            (
                what,
                "The disk or your quota is full. Make room and start it again; what it reported until then stays in its folder.",
            )
        } else if is_recording {
            (
                "recording could not be played",
                "Check that the disk is not full; `tinyllama-tutor recordings list` names what can be played.",
            )
        } else if error.is::<UsageError>() {
            ("run could not be started", WRONG_FLAGS)
        } else {
            (
                "run could not be started",
                "Check that the program and its launcher exist and that the disk is not full.",
            )
        };
        Self {
            exit: None,
            message: format!("The {what}: {error:#}."),
            remedy: Some(remedy.into()),
            ..Self::default()
        }
    }

    pub fn is_success(&self) -> bool {
        self.exit.is_some_and(RunExit::is_success)
    }
}

fn failure_name(code: FailureCode) -> &'static str {
    match code {
        FailureCode::Usage => "the command line was refused",
        FailureCode::Environment => "no usable device",
        FailureCode::OutOfMemory => "out of memory",
        FailureCode::Device => "the device refused or lost work",
        FailureCode::Launcher => "it found no place to run, or lost it",
        FailureCode::NotFinite => "the loss is no longer finite",
        FailureCode::Interrupted => "stopped",
        FailureCode::Internal => "a bug of this program",
    }
}

fn failed(exit: RunExit, failure: Option<&Failure>, stderr: &str) -> (String, Option<String>) {
    let how = match exit {
        RunExit::Status(code) => format!("The run ended with status {code}"),
        RunExit::Signal(signal) => format!("The run was ended by {}", signal_name(signal)),
        RunExit::Lost => "The run was lost".to_string(),
    };
    match failure {
        Some(failure) => (
            format!("{how}: {}", failure.message),
            Some(failure.remedy.clone()).filter(|remedy| !remedy.is_empty()),
        ),
        None => (format!("{how}."), Some(guess(exit, stderr).into())),
    }
}

/// Guesses the remedy that usually helps if the run died without reporting an error.
fn guess(exit: RunExit, stderr: &str) -> &'static str {
    let lower = stderr.to_lowercase();
    let says = |message: &[&str]| message.iter().any(|word| lower.contains(word));
    if says(&[
        "out of memory",
        "outofmemory",
        "cannot allocate",
        "can't allocate",
    ]) {
        return "The device or the machine ran out of memory. Lower --batch-size or --seq-len, or end other programs.";
    }
    if says(&[
        "memory access fault",
        "illegal memory access",
        "page fault",
        "gpu hang",
        "device lost",
    ]) {
        return "The GPU refused a memory access or was reset. `tinyllama-tutor doctor` shows the driver's \
                state; with --backend cpu you can go on without it.";
    }
    match exit {
        RunExit::Signal(libc::SIGKILL) => {
            "The cause is not known. Usually the system ran out of memory and killed this process (`dmesg` \
             shows it), or a scheduler's time limit was reached. Lower --batch-size, or run it again."
        }
        RunExit::Signal(libc::SIGSEGV | libc::SIGABRT | libc::SIGBUS | libc::SIGILL) => {
            "The program or a driver crashed. Run it again; if it happens twice, use --backend cpu and report the lines below."
        }
        RunExit::Status(2) => WRONG_FLAGS,
        RunExit::Status(126 | 127) => {
            "The program, or its launcher, was not found on this machine."
        }
        _ => "The lines below say more. `tinyllama-tutor doctor` checks the machine.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_one() {
        let error = anyhow::Error::from(io::Error::from_raw_os_error(libc::ENOSPC));
        let ending = RunEnding::not_started(&error.context("cannot write in runs/1"), false);
        let full = format!("{}\n{}", ending.message, ending.remedy.unwrap());
        let error = anyhow::Error::from(io::Error::from_raw_os_error(libc::ENOENT));
        let ending = RunEnding::not_started(&error, false);
        insta::assert_snapshot!(format!("{full}\n{}", ending.message));
    }

    #[test]
    fn a_crash_is_named_with_what_usually_helps() {
        let (message, remedy) = failed(RunExit::Signal(libc::SIGKILL), None, "");
        assert!(message.contains("signal 9 (KILL)"), "{message}");
        assert!(remedy.is_some_and(|text| text.contains("dmesg")));
        let (_, remedy) = failed(
            RunExit::Signal(libc::SIGABRT),
            None,
            "Memory access fault by GPU node-1",
        );
        assert!(remedy.is_some_and(|text| text.contains("doctor")));
        let failure = Failure {
            code: FailureCode::OutOfMemory,
            message: "no room".into(),
            remedy: "Lower --batch-size.".into(),
        };
        let (message, remedy) = failed(RunExit::Status(1), Some(&failure), "");
        assert!(message.contains("no room"));
        assert_eq!(remedy.as_deref(), Some("Lower --batch-size."));
    }
}
