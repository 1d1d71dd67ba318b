//! Prints text if the width of the terminal is unknown.

use std::io::Write;

use anyhow::Result;
use serde_json::Value;

use crate::cli::analysis::AnalysisPage;
use crate::cli::{Exit, print_result};
use tinyllama_base::untrusted::plain_lines;

/// Maximum width of a table, and its width if that of the terminal is unknown.
const WIDTH: usize = 100;

/// The width in columns.
pub fn width() -> usize {
    AnalysisPage::default().width.min(WIDTH)
}

/// Prints a document, or text from an untrusted source.
pub fn print_result(as_json: bool, document: &Value, text: &str) -> Result<Exit> {
    print_result::print_document(as_json, document, |out| {
        out.write_all(plain_lines(text).as_bytes())
    })
}
