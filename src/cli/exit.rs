//! Exit statuses, and their choice for each error.

use std::error::Error;
use std::io::{self, ErrorKind};

use itertools::Itertools;

use tinyllama_analysis::RunFailure;
use tinyllama_base::errln;
use tinyllama_base::untrusted::{plain, plain_lines};
use tinyllama_contract::event::FailureCode;
use tinyllama_contract::flags::UsageError;
use tinyllama_contract::model::ConfigError;
use tinyllama_engine::device::driver::DriverError;
use tinyllama_engine::device::{self, BackendFailure, DeviceError};
use tinyllama_engine::train::DataError;
use tinyllama_profile::commands::line::LacksFlag;
use tinyllama_profile::read::ImportError;
use tinyllama_profile::run::RunError;
use tinyllama_runs::recording::RecordingError;
use tinyllama_runs::{NotStarted, RunExit};
use tinyllama_session::SessionError;
use tinyllama_tutor_core::TutorError;
use tinyllama_tutor_core::instructor::ClassError;
use tinyllama_tutor_core::instructor::scope::ScopeError;
use tinyllama_ui::plain::folded_prose;
use tinyllama_workbench::compiled::compiler::CompilerError;

/// The program's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Ok,
    /// A check or a run failed.
    Failed,
    /// The command line, or a file that it names, is wrong.
    Usage,
    /// This machine lacks something.
    Environment,
    /// A signal ended the program; the status follows the convention of shells.
    Signal(i32),
    /// The status of the process on whose behalf this one ran.
    OfAnother(i32),
}

/// An error that a child process has already explained.
#[derive(Debug, thiserror::Error)]
#[error("see above")]
pub struct AlreadyReported(pub Exit);

impl Exit {
    pub fn from_passed(passed: bool) -> Exit {
        match passed {
            true => Exit::Ok,
            false => Exit::Failed,
        }
    }

    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(255),
            Exit::OfAnother(status) => u8::try_from(status).unwrap_or(255),
        }
    }
}

/// Keeps the child's exit status, because the child is this program or uses the same statuses.
impl From<RunExit> for Exit {
    fn from(exit: RunExit) -> Exit {
        match exit {
            RunExit::SUCCESS => Exit::Ok,
            RunExit::Status(2) => Exit::Usage,
            RunExit::Status(3) => Exit::Environment,
            _ => Exit::Failed,
        }
    }
}

/// Derives the exit status and the remedy from an error's type.
fn of_type(cause: &(dyn Error + 'static)) -> Option<(Exit, Option<String>)> {
    macro_rules! with_remedy {
        ($($type:ty: $exit:expr,)*) => {
            $(if let Some(error) = cause.downcast_ref::<$type>() {
                return Some(($exit(error), Some(error.remedy().into())));
            })*
        };
    }
    // This failure is transparent and its own chain omits the inner error. So search the inner error and its causes.
    if let Some(RunFailure::Other(error)) = cause.downcast_ref() {
        return error.chain().find_map(of_type);
    }
    with_remedy! {
        DeviceError: |_| Exit::Environment,
        BackendFailure: |error: &_| match error {
            BackendFailure::Refused { .. } => Exit::Failed,
            _ => Exit::Environment,
        },
        DriverError: |error: &_| match error {
            // A mistake in this program, not in the machine.
            DriverError::Compile { .. } | DriverError::Invalid { .. } => Exit::Failed,
            _ => Exit::Environment,
        },
        NotStarted: |_| Exit::Environment,
        LacksFlag: |_| Exit::Environment,
        SessionError: of_session,
        ClassError: |error: &_| match error {
            ClassError::Session(error) => of_session(error),
            ClassError::NoLearner { .. } => Exit::Usage,
            ClassError::Folder { .. } => Exit::Environment,
        },
        RecordingError: |_| Exit::Usage,
        TutorError: |error: &TutorError| match error.is_usage() {
            true => Exit::Usage,
            false => Exit::Environment,
        },
    }
    let is_usage = cause.is::<ConfigError>()
        || cause.is::<DataError>()
        || cause.is::<UsageError>()
        || cause.is::<ScopeError>()
        || cause.is::<ImportError>();
    let is_missing = matches!(
        cause.downcast_ref(),
        Some(CompilerError::NoCompiler | CompilerError::Unusable { .. })
    ) || matches!(cause.downcast_ref(), Some(RunError::NotInstalled { .. }));
    let exit = match (cause.downcast_ref(), cause.downcast_ref::<io::Error>()) {
        _ if is_usage => Exit::Usage,
        _ if is_missing => Exit::Environment,
        (Some(RunFailure::Interrupted { signal }), _) => Exit::Signal(*signal),
        // The status for a command that started a run which failed.
        (Some(RunFailure::FailedRun(failed)), _) => match failed.code() {
            Some(FailureCode::Usage) => Exit::Usage,
            Some(FailureCode::Environment) => Exit::Environment,
            _ => Exit::Failed,
        },
        // The reader closed the output because it needs no more lines.
        (_, Some(error)) if error.kind() == ErrorKind::BrokenPipe => Exit::Ok,
        _ => cause.downcast_ref::<AlreadyReported>()?.0,
    };
    Some((exit, None))
}

fn of_session(error: &SessionError) -> Exit {
    match error {
        SessionError::Name { .. }
        | SessionError::NoSession { .. }
        | SessionError::Exists { .. }
        | SessionError::NoExport { .. }
        | SessionError::NoBackup(_)
        | SessionError::NothingToRestore
        | SessionError::AlreadyRestored(_) => Exit::Usage,
        SessionError::NoPlace { .. }
        | SessionError::NoClass { .. }
        | SessionError::UnsafeClass { .. }
        | SessionError::Gone { .. }
        | SessionError::NotKept { .. }
        | SessionError::LockUnsupported { .. }
        | SessionError::Io { .. } => Exit::Environment,
        _ => Exit::Failed,
    }
}

/// Classifies an error by the first typed error in its chain.
pub fn classify(error: &anyhow::Error) -> Exit {
    let known = error.chain().find_map(of_type);
    known.map_or(Exit::Failed, |(exit, _)| exit)
}

/// Shortens an error of a device's runtime. A typed error stays unchanged, because its type already says what it is.
pub fn explain(error: anyhow::Error) -> anyhow::Error {
    match error.chain().find_map(of_type) {
        Some(_) => error,
        None => device::explain(error),
    }
}

/// The remedy, if the error's type knows one.
pub fn remedy(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(of_type)?.1
}

/// Prints an error's chain up to the first typed error, with its remedy, and returns the exit status.
pub fn report(error: &anyhow::Error) -> Exit {
    let exit = classify(error);
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain() {
        let is_of_others = cause.is::<SessionError>() || cause.is::<ClassError>();
        causes.push(match is_of_others || cause.is::<ScopeError>() {
            true => plain(&cause.to_string()),
            false => plain_lines(&cause.to_string()),
        });
        if of_type(cause).is_some() {
            break;
        }
    }
    match exit {
        Exit::Ok => {}
        _ if error.is::<AlreadyReported>() => {}
        Exit::Signal(_) => errln!("{}", causes.join(": ")),
        _ => say("error: ", &causes.join(": ")),
    }
    if let Some(remedy) = remedy(error) {
        say("       ", &remedy);
    }
    exit
}

/// Prints to standard error; lines that are wider than its terminal break between words.
fn say(head: &str, text: &str) {
    let terminal = console::Term::stderr();
    let columns = usize::from(terminal.size().1).saturating_sub(head.len());
    let lines = text.lines().map(|line| match terminal.is_term() {
        true => folded_prose(line, columns.max(20)).replace('\n', "\n       "),
        false => line.to_owned(),
    });
    errln!("{head}{}", lines.format("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn errors_keep_their_kind_under_context() {
        let device = DeviceError::NotCompiledIn {
            backend: tinyllama_engine::device::Backend::Rocm,
        };
        let error = Err::<(), _>(device)
            .context("opening the device")
            .unwrap_err();
        assert_eq!(classify(&error), Exit::Environment);
        assert!(remedy(&error).is_some_and(|text| text.contains("--features rocm")));
        assert_eq!(classify(&anyhow::anyhow!("something else")), Exit::Failed);
        assert_eq!(Exit::Signal(2).code(), 130);
    }
}
