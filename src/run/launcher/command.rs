//! Runs behind a command of the user's: its words go before the program, which keeps its own.

use std::ffi::OsString;

use crate::run::UsageError;

/// # Errors
/// When the words cannot be told apart.
pub(super) fn parse(words: &str) -> Result<Vec<String>, UsageError> {
    shlex::split(words).ok_or_else(|| {
        UsageError(format!(
            "--launcher {words}: a quotation mark is not closed"
        ))
    })
}

pub(super) fn before(words: &[String]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}
