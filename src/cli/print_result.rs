//! Prints a command's result: a document for programs, or text for people.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::Exit;
use super::analysis::AnalysisPage;
use tinyllama_base::locale;
use tinyllama_base::terminal::Stdout;
use tinyllama_base::untrusted::json;
use tinyllama_ui::plain::{for_terminal, markdown_for_terminal};

/// Prints one JSON document, or the text that `print` writes.
///
/// # Errors
/// If it cannot be written.
pub fn print_document<E: Into<anyhow::Error>>(
    as_json: bool,
    document: &impl Serialize,
    print: impl FnOnce(&mut Stdout) -> Result<(), E>,
) -> Result<Exit> {
    match as_json {
        true => {
            let text = json(document).map_err(io::Error::from)?;
            writeln!(Stdout, "{text}")?;
        }
        false => print(&mut Stdout).map_err(Into::into)?,
    }
    Ok(Exit::Ok)
}

/// Prints one JSON document.
pub fn print_json(document: &impl Serialize) -> Result<()> {
    print_document(true, document, |_| Ok::<_, io::Error>(())).map(drop)
}

/// Prints one JSON document, or sentences. Those are folded for a terminal.
pub fn print_prose<E: Into<anyhow::Error>>(
    as_json: bool,
    document: &impl Serialize,
    print: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<Exit> {
    let mut text = Vec::new();
    if !as_json {
        print(&mut text).map_err(Into::into)?;
    }
    let text = String::from_utf8_lossy(&text);
    print_document(as_json, document, |out| {
        write!(out, "{}", for_terminal(&text))
    })
}

/// Prints one JSON document, or text.
pub fn print_text(as_json: bool, document: &Value, text: &str) -> Result<Exit> {
    print_prose(as_json, document, |out| writeln!(out, "{text}"))
}

/// Prints one JSON document, or Markdown.
pub fn print_markdown(as_json: bool, document: &Value, text: &str) -> Result<Exit> {
    print_document(as_json, document, |out| {
        let ascii = !locale::is_utf8(locale::variable);
        writeln!(out, "{}", markdown_for_terminal(text, ascii))
    })
}

/// Prints one JSON document, or a page.
pub fn print_page(as_json: bool, document: &impl Serialize, page: &AnalysisPage) -> Result<Exit> {
    print_prose(as_json, document, |out| write!(out, "{page}"))
}
