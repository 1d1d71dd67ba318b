//! How a run ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a run ended, as sessions store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunExit {
    Status(i32),
    Signal(i32),
    /// The tutor ended first.
    Lost,
}

impl RunExit {
    /// The status of a program that did what it was asked to.
    pub const SUCCESS: RunExit = RunExit::Status(0);

    pub fn is_success(self) -> bool {
        self == RunExit::SUCCESS
    }
}

impl From<ExitStatus> for RunExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => RunExit::Status(code),
            (None, Some(signal)) => RunExit::Signal(signal),
            (None, None) => RunExit::Lost,
        }
    }
}

/// `exit status: 1`, `signal 9 (KILL)`.
impl fmt::Display for RunExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunExit::Status(code) => write!(f, "exit status: {code}"),
            RunExit::Signal(signal) => f.write_str(&signal_name(*signal)),
            RunExit::Lost => f.write_str("lost"),
        }
    }
}

/// Parses the text that `Display` writes.
impl FromStr for RunExit {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let status = text.strip_prefix("exit status: ");
        let status = status.and_then(|code| code.parse().ok());
        let number = text.strip_prefix("signal ");
        let number = number.and_then(|rest| rest.split(' ').next());
        let signal = number.and_then(|number| number.parse().ok());
        let known = status.map(RunExit::Status);
        known.or(signal.map(RunExit::Signal)).ok_or(())
    }
}

/// `signal 9 (KILL)`.
pub fn signal_name(signal: i32) -> String {
    let name = signal_hook::low_level::signal_name(signal)
        .map(|name| name.trim_start_matches("SIG"))
        .map_or(String::new(), |name| format!(" ({name})"));
    format!("signal {signal}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_reads_back_as_it_is_written() {
        for exit in [RunExit::Status(0), RunExit::Status(143), RunExit::Signal(9)] {
            assert_eq!(exit.to_string().parse(), Ok(exit));
        }
        assert_eq!("lost".parse::<RunExit>(), Err(()));
    }
}
