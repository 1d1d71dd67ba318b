//! What the commands that measure and compare share: how they are asked, how runs are made, and how they answer.

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

/// A command that measures or compares something: its flags, and what they lead to.
pub trait Analysis: Args {
    /// # Errors
    /// What the flags, this machine or a run have against it.
    fn answer(&self) -> Result<Answer>;
}

/// What a command found: one JSON document, a page for people, and how it ends.
pub struct Answer {
    document: String,
    page: Page,
    end: Result<Exit>,
}

impl Answer {
    /// # Errors
    /// When the document is none.
    pub fn new(document: &impl Serialize, page: Page) -> Result<Self> {
        Ok(Answer {
            document: serde_json::to_string_pretty(document)?,
            page,
            end: Ok(Exit::Ok),
        })
    }

    /// Says where the runs were made when that was not one machine.
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

    /// Ends well only if everything did.
    pub fn passed(mut self, passed: bool) -> Self {
        self.end = self.end.map(|_| Exit::of(passed));
        self
    }

    /// Shows what there is, and ends as the runs did.
    pub fn after(mut self, runs: Result<(), RunFailure>) -> Self {
        self.end = runs.map_err(Into::into).and(self.end);
        self
    }
}

/// A child process has said already why it ended so.
#[derive(Debug, thiserror::Error)]
#[error("see above")]
pub struct Told(pub Exit);

/// The command line of an analysis.
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
