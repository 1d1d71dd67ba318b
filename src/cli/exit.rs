//! Exit statuses, and how an error becomes one.

use std::process::ExitCode;

use crate::base::foreign::plain_lines;
use crate::device::driver::DriverError;
use crate::device::{self, BackendFailure, DeviceError};
use crate::model::ConfigError;
use crate::run::UsageError;
use crate::train::DataError;
use crate::workbench::ToolchainError;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Ok,
    /// A check failed, or a run did.
    Failed,
    /// The command line, or a file it names, is wrong.
    Usage,
    /// This machine lacks something.
    Environment,
    /// Ended by a signal, reported the way shells do.
    Signal(i32),
}

impl Exit {
    pub fn of(passed: bool) -> Exit {
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
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// What kind of error this is, judged by the first typed error in its chain.
pub fn classify(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if cause.is::<DeviceError>() || cause.is::<ToolchainError>() {
            return Exit::Environment;
        }
        match cause.downcast_ref::<BackendFailure>() {
            Some(BackendFailure::Refused { .. }) => return Exit::Failed,
            Some(_) => return Exit::Environment,
            None => {}
        }
        match cause.downcast_ref::<DriverError>() {
            // A mistake of this program, not of the machine.
            Some(DriverError::Compile { .. } | DriverError::Invalid { .. }) => return Exit::Failed,
            Some(_) => return Exit::Environment,
            None => {}
        }
        if cause.is::<ConfigError>() || cause.is::<DataError>() || cause.is::<UsageError>() {
            return Exit::Usage;
        }
        if let Some(io) = cause.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::BrokenPipe
        {
            return Exit::Ok;
        }
    }
    Exit::Failed
}

/// `error` in fewer words, where a device's runtime has too many. What somebody typed is nobody's runtime, whatever words are
/// in it.
pub fn explain(error: anyhow::Error) -> anyhow::Error {
    match classify(&error) {
        Exit::Usage => error,
        _ => device::explain(error),
    }
}

/// What to do about `error`, where its type knows.
pub fn remedy(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let device = cause.downcast_ref::<DeviceError>().map(DeviceError::remedy);
        let driver = cause.downcast_ref::<DriverError>().map(DriverError::remedy);
        let backend = cause.downcast_ref::<BackendFailure>();
        device
            .or(driver)
            .or(backend.map(|failure| failure.remedy().to_owned()))
    })
}

/// Prints `error` with its causes and remedy, and returns the status to end with.
pub fn report(error: &anyhow::Error) -> Exit {
    let exit = classify(error);
    if exit != Exit::Ok {
        eprintln!("error: {}", plain_lines(&format!("{error:#}")));
        if let Some(remedy) = remedy(error) {
            eprintln!("       {remedy}");
        }
    }
    exit
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn errors_keep_their_kind_under_context() {
        let device = DeviceError::NotCompiledIn {
            backend: crate::device::Backend::Rocm,
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
