//! Prints one document at the end of a run.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use tinyllama_contract::event::{
    Activations, Block, Body, Event, Failure, Hello, Kernels, Note, Parts, Sample, Step, Summary,
};
use tinyllama_engine::train::EventSink;

/// The document of `--json`, printed at the end.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct FinalDocument {
    pub hello: Option<Hello>,
    pub steps: Vec<Step>,
    pub kernels: Option<Kernels>,
    pub parts: Option<Parts>,
    pub activations: Option<Activations>,
    pub block: Option<Block>,
    pub sample: Option<Sample>,
    pub notes: Vec<Note>,
    pub summary: Option<Summary>,
    pub error: Option<Failure>,
}

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
        let document = &mut self.document;
        match event.body.clone() {
            Body::Hello(hello) => document.hello = Some(*hello),
            Body::Phase(_) => {}
            Body::Step(step) => document.steps.push(step),
            Body::Kernels(kernels) => document.kernels = Some(kernels),
            Body::Parts(parts) => document.parts = Some(parts),
            Body::Activations(activations) => document.activations = Some(activations),
            Body::Block(block) => document.block = Some(block),
            Body::Sample(sample) => document.sample = Some(sample),
            Body::Note(note) => document.notes.push(note),
            Body::Summary(summary) => document.summary = Some(*summary),
            Body::Error(failure) => document.error = Some(failure),
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.out, &self.document)?;
        writeln!(self.out)?;
        self.out.flush()
    }
}
