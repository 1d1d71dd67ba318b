//! Documents for programs.

use std::io::{self, Write};

use serde::Serialize;

/// One JSON document on standard output.
///
/// # Errors
/// When it cannot be written.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
