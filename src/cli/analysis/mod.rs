//! Shared parts of the commands that measure and compare: arguments, runs and results.

mod flags;
mod grid;
mod page;
mod runner;
mod stored_run;
mod turns;

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

pub use flags::{Flags, Measure, Sweep, TIMED, switches};
pub use grid::{GridColumn, GridSizes, SizeGrid};
pub use page::{AnalysisPage, bar, interval, range, workshop_table};
pub use runner::AnalysisRunner;
pub use stored_run::stored_run;
pub use tinyllama_base::units::plural;
use tinyllama_base::untrusted::json;

use super::Exit;
use tinyllama_analysis::RunFailure;
use tinyllama_base::terminal::Stdout;

/// A command that measures or compares: its flags, and the function that answers.
pub trait Analysis: Args {
    /// # Errors
    /// If the flags contradict each other, this machine lacks something, or a run fails.
    fn analyze(&self) -> Result<AnalysisResult>;
}

/// A command's result: one JSON document, a page for people, and the exit status.
pub struct AnalysisResult {
    document: String,
    page: AnalysisPage,
    end: Result<Exit>,
}

impl AnalysisResult {
    /// # Errors
    /// If the document cannot be serialized.
    pub fn new(document: &impl Serialize, page: AnalysisPage) -> Result<Self> {
        Ok(AnalysisResult {
            document: json(document)?,
            page,
            end: Ok(Exit::Ok),
        })
    }

    /// Adds the names of the machines if there were several.
    pub fn with_nodes(mut self, runner: &AnalysisRunner) -> Self {
        if let Some(text) = runner.nodes_note() {
            let document = serde_json::from_str(&self.document);
            if let Ok(serde_json::Value::Object(mut document)) = document {
                let nodes: Vec<&str> = runner
                    .nodes_note
                    .iter()
                    .map(|(node, _)| node.as_str())
                    .collect();
                document.insert("nodes".into(), nodes.into());
                if let Ok(text) = json(&document) {
                    self.document = text;
                }
            }
            self.page.paragraph(&text);
        }
        self
    }

    /// Sets the exit status; it stays successful only if everything passed.
    pub fn with_passed(mut self, passed: bool) -> Self {
        self.end = self.end.map(|_| Exit::from_passed(passed));
        self
    }

    /// Keeps the result to show, but ends with the runs' error if there is one.
    pub fn with_run_result(mut self, runs: Result<(), RunFailure>) -> Self {
        self.end = runs.map_err(Into::into).and(self.end);
        self
    }
}

/// The arguments of an analysis.
#[derive(Debug, Args)]
pub struct AnalysisCommand<A: Analysis> {
    #[command(flatten)]
    analysis: A,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl<A: Analysis> AnalysisCommand<A> {
    pub fn run(&self) -> Result<Exit> {
        let answer = self.analysis.analyze()?;
        match self.json {
            true => writeln!(Stdout, "{}", answer.document)?,
            false => write!(Stdout, "{}", answer.page)?,
        }
        answer.end
    }
}
