//! `schema`: prints the JSON Schemas of the program's machine-readable outputs.

use std::io::Write;

use anyhow::Result;
use clap::{Args, ValueEnum};
use schemars::{Schema, schema_for};

use super::Exit;
use tinyllama_base::terminal::Stdout;
use tinyllama_contract::event::{Event, FinalDocument};
use tinyllama_report::Report;

/// A machine-readable output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// One line of `run --events`
    Events,
    /// The document of `run --json`
    Run,
    /// session.json of `report`
    Report,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Output to describe
    #[arg(value_enum)]
    output: SchemaOf,
}

/// Returns the schema of `output`.
pub fn schema(output: SchemaOf) -> Schema {
    match output {
        SchemaOf::Events => schema_for!(Event),
        SchemaOf::Run => schema_for!(FinalDocument),
        SchemaOf::Report => schema_for!(Report),
    }
}

pub fn run(args: &SchemaArgs) -> Result<Exit> {
    let text = serde_json::to_string_pretty(&schema(args.output))?;
    writeln!(Stdout, "{text}")?;
    Ok(Exit::Ok)
}
