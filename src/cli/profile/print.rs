//! Printing without a terminal's help.

use std::io::Write;

use anyhow::Result;
use serde_json::Value;

use crate::cli::analysis::Page;
use crate::cli::{Exit, say};
use tinyllama_base::foreign::plain_lines;

/// Columns of a table when the width of the terminal is not known, and at most.
const WIDTH: usize = 100;

/// Columns to print in.
pub fn width() -> usize {
    Page::default().width.min(WIDTH)
}

/// A document, or words of others.
pub fn say(as_json: bool, document: &Value, text: &str) -> Result<Exit> {
    say::say(as_json, document, |out| {
        out.write_all(plain_lines(text).as_bytes())
    })
}
