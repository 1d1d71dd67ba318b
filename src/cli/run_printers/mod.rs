//! The three formats of a run: lines for people, events for programs, one document.

mod document;
mod lines;
mod summary;
mod tables;

use std::io::{self, Write};

use tinyllama_base::untrusted::json_line;
use tinyllama_contract::event::Event;
use tinyllama_engine::train::EventSink;

pub use document::DocumentPrinter;
pub use lines::{LinePrinter, spinner};

/// `--events`: one JSON object per line.
pub struct JsonLines<W: Write + Send>(pub W);

impl<W: Write + Send> EventSink for JsonLines<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.0.write_all((json_line(event)? + "\n").as_bytes())?;
        self.0.flush()
    }
}
