//! Printing without a terminal's help.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::base::foreign::plain_lines;
use crate::cli::analysis::Page;

/// Columns of a table when the width of the terminal is not known, and at most.
const WIDTH: usize = 100;

/// Columns to print in.
pub fn width() -> usize {
    Page::default().width.min(WIDTH)
}

/// Exit codes of every command.
const FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const ENVIRONMENT: u8 = 3;

pub fn exit_code(succeeded: bool) -> ExitCode {
    ExitCode::from(if succeeded { 0 } else { FAILED })
}

/// Writes words of others to stdout.
pub fn out(text: &str) -> io::Result<()> {
    write(&plain_lines(text))
}

/// A reader that has gone, such as `head`, is no error.
fn write(text: &str) -> io::Result<()> {
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
    Ok(write(&format!(
        "{}\n",
        serde_json::to_string_pretty(document)?
    ))?)
}
