//! Prints one document at the end of a run.

use std::io::{self, Write};

use tinyllama_base::untrusted::json;
use tinyllama_contract::event::{Event, FinalDocument};
use tinyllama_engine::train::EventSink;

/// Collects a [`FinalDocument`] and prints it when the stream ends.
pub struct DocumentPrinter<W: Write + Send> {
    out: W,
    document: FinalDocument,
}

impl<W: Write + Send> DocumentPrinter<W> {
    pub fn new(out: W) -> Self {
        DocumentPrinter {
            out,
            document: FinalDocument::default(),
        }
    }
}

impl<W: Write + Send> EventSink for DocumentPrinter<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.document.add(&event.body);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        writeln!(self.out, "{}", json(&self.document)?)?;
        self.out.flush()
    }
}
