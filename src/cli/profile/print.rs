//! Printing without a terminal's help.

use std::io::{self, Write};
use std::process::ExitCode;

/// Columns of a table when the width of the terminal is not known.
pub const WIDTH: usize = 100;

/// Exit codes of every command.
const FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const ENVIRONMENT: u8 = 3;

pub fn exit_code(succeeded: bool) -> ExitCode {
    ExitCode::from(if succeeded { 0 } else { FAILED })
}

/// Writes to stdout; a reader that has gone, such as `head`, is no error.
pub fn out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

pub fn json(document: &serde_json::Value) -> anyhow::Result<()> {
    Ok(out(&format!(
        "{}\n",
        serde_json::to_string_pretty(document)?
    ))?)
}
