//! `diff`: what differs between two targets.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::Exit;
use crate::model::Target;
use crate::model::difference::{Difference, differences};

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// A target: v1, v2, v3, stage1 to stage6
    left: Target,
    /// Another one
    right: Target,
    /// Say it in words only
    #[arg(long)]
    brief: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    left: String,
    right: String,
    differences: Vec<Difference>,
}

pub fn run(args: &DiffArgs) -> Result<Exit> {
    let document = Document {
        left: args.left.to_string(),
        right: args.right.to_string(),
        differences: differences(args.left, args.right),
    };
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        print(&mut out, &document, args.brief)?;
    }
    Ok(Exit::Ok)
}

fn print(out: &mut impl Write, document: &Document, brief: bool) -> io::Result<()> {
    let Document { left, right, .. } = document;
    if document.differences.is_empty() {
        return writeln!(out, "{left} and {right} do the same");
    }
    for (index, difference) in document.differences.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", difference.setting)?;
        for (name, words) in [(left, difference.left), (right, difference.right)] {
            writeln!(out, "  {name}: {words}")?;
        }
        if brief {
            continue;
        }
        for excerpt in &difference.source {
            writeln!(out, "\n  {} from line {}", excerpt.file, excerpt.line)?;
            for (number, line) in excerpt.text.lines().enumerate() {
                writeln!(out, "  {:>4}  {line}", excerpt.line + number)?;
            }
        }
    }
    Ok(())
}
