//! Shared parts of the commands that measure and compare: arguments, runs and results.

mod flags;
mod grid;
pub mod junit;
mod kept;
mod lab;
mod page;
mod turns;

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde::Serialize;

pub use flags::{Flags, Measure, Sweep, TIMED, number_that, positive, switches};
pub use grid::{Column, Grid, Sizes};
pub use kept::kept_run;
pub use lab::Lab;
pub use page::{Page, bar, interval, range, workshop_table};
pub use tinyllama_base::units::plural;

use super::Exit;
use tinyllama_course::analysis::RunFailure;

/// A command that measures or compares: its flags, and the function that answers.
pub trait Analysis: Args {
    /// # Errors
    /// If the flags contradict each other, this machine lacks something, or a run fails.
    fn answer(&self) -> Result<Answer>;
}

/// A command's result: one JSON document, a page for people, and the exit status.
pub struct Answer {
    document: String,
    page: Page,
    end: Result<Exit>,
}

impl Answer {
    /// # Errors
    /// If the document cannot be serialized.
    pub fn new(document: &impl Serialize, page: Page) -> Result<Self> {
        Ok(Answer {
            document: serde_json::to_string_pretty(document)?,
            page,
            end: Ok(Exit::Ok),
        })
    }

    /// Adds the names of the machines if there were several.
    pub fn made_in(mut self, lab: &Lab) -> Self {
        if let Some(words) = lab.places() {
            let document = serde_json::from_str(&self.document);
            if let Ok(serde_json::Value::Object(mut document)) = document {
                let nodes: Vec<&str> = lab.places.iter().map(|(node, _)| node.as_str()).collect();
                document.insert("nodes".into(), nodes.into());
                self.document = format!("{:#}", serde_json::Value::Object(document));
            }
            self.page.paragraph(&words);
        }
        self
    }

    /// Sets the exit status; it stays successful only if everything passed.
    pub fn passed(mut self, passed: bool) -> Self {
        self.end = self.end.map(|_| Exit::of(passed));
        self
    }

    /// Keeps the result to show, but ends with the runs' error if there is one.
    pub fn after(mut self, runs: Result<(), RunFailure>) -> Self {
        self.end = runs.map_err(Into::into).and(self.end);
        self
    }
}

/// An error that a child process has already explained.
#[derive(Debug, thiserror::Error)]
#[error("see above")]
pub struct Told(pub Exit);

/// The arguments of an analysis.
#[derive(Debug, Args)]
pub struct Asked<A: Analysis> {
    #[command(flatten)]
    analysis: A,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl<A: Analysis> Asked<A> {
    pub fn run(&self) -> Result<Exit> {
        let answer = self.analysis.answer()?;
        let mut out = io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", answer.document)?,
            false => write!(out, "{}", answer.page)?,
        }
        answer.end
    }
}
