//! Prints text if the width of the terminal is unknown.

use std::io::Write;

use anyhow::Result;
use serde_json::Value;

use crate::cli::analysis::AnalysisPage;
use crate::cli::{Exit, print_result};
use tinyllama_base::untrusted::plain_lines;
use tinyllama_ui::plain::folded_prose;

/// Maximum width of a table, and its width if that of the terminal is unknown.
const WIDTH: usize = 100;

/// The width in columns.
pub fn width() -> usize {
    AnalysisPage::default().width.min(WIDTH)
}

/// Appends a text in indented lines. Commands in it stay in one piece.
pub fn push_prose(into: &mut String, text: &str) {
    const INDENT: usize = 2;
    for line in folded_prose(text, width().saturating_sub(INDENT)).lines() {
        into.push_str(&format!("{:INDENT$}{line}\n", ""));
    }
}

/// Prints a document, or text from an untrusted source.
pub fn print_result(as_json: bool, document: &Value, text: &str) -> Result<Exit> {
    print_result::print_document(as_json, document, |out| {
        out.write_all(plain_lines(text).as_bytes())
    })
}
