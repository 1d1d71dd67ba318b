//! Reasons why a tutor cannot start, with remedies.

use std::io;

use thiserror::Error;

use tinyllama_base::file::is_full;
use tinyllama_lesson::Problems;
use tinyllama_session::SessionError;

#[derive(Debug, Error)]
pub enum TutorError {
    #[error("the course cannot be read:\n{0}")]
    Course(#[from] Problems),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("{0} is not a terminal")]
    NoTerminal(&'static str),
    #[error("{0}")]
    Keys(String),
    #[error("{0}")]
    Usage(String),
    #[error("{action}: {source}")]
    Io {
        action: &'static str,
        source: io::Error,
    },
}

impl TutorError {
    pub fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| TutorError::Io { action, source }
    }

    /// Returns what the user can do about it.
    pub fn remedy(&self) -> String {
        match self {
            TutorError::Course(_) => "`tinyllama-tutor lessons lint` shows each line; without --lessons the built-in course opens.".into(),
            TutorError::Session(error @ SessionError::Held { .. }) => format!(
                "{} `tinyllama-tutor session show` reads it without opening it.",
                error.remedy()
            ),
            TutorError::Session(error) => error.remedy(),
            TutorError::NoTerminal(_) => "`tinyllama-tutor --plain` is the same course as lines of text; for scripts every command has --json.".into(),
            TutorError::Keys(_) => "Correct the file, or remove it to have the usual keys.".into(),
            TutorError::Usage(_) => "`tinyllama-tutor --help` lists the options.".into(),
            TutorError::Io { source, .. } if is_full(source.kind()) => {
                "The disk that the output goes to is full: make room, or send the output elsewhere. What was entered is kept.".into()
            }
            TutorError::Io { action: "reading" | "writing", .. } => {
                "Give the tutor an input and an output that stay open. What was entered before is kept.".into()
            }
            TutorError::Io { .. } => "`tinyllama-tutor --plain` needs less of a terminal.".into(),
        }
    }

    /// Returns whether the command line or a file that it names is wrong. Otherwise this machine lacks something.
    pub fn is_usage(&self) -> bool {
        !matches!(self, TutorError::Session(_) | TutorError::Io { .. })
            || matches!(self, TutorError::Session(SessionError::Name { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_fits_what_went_wrong() {
        let remedy =
            |action, errno| TutorError::io(action)(io::Error::from_raw_os_error(errno)).remedy();
        assert!(remedy("writing", libc::ENOSPC).contains("is full"));
        assert!(remedy("reading", libc::EIO).contains("input"));
        assert!(remedy("the terminal", libc::EIO).contains("--plain"));
    }
}
