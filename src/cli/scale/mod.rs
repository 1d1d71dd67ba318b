//! `scale`: targets over a grid of sequence lengths and batch sizes, and how time and memory grow over it.

mod grid;
mod tables;

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use self::grid::Grid;
use super::Exit;
use super::analysis::{
    Console, Entry, MeasureFlags, RunFlags, finish, print_json, print_table, workshop_table,
};
use super::training_args::UsageError;
use crate::analysis::Stop;
use crate::analysis::relative::RelativeTime;
use crate::analysis::scaling::{Size, TargetScale, by_size};
use crate::analysis::workshop::{self, Confronted};

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor scale v1 --seq-len 64,128,256,512,1024
      growth with the sequence length
  tinyllama-tutor scale v1 v4 --seq-len 128 --batch-size 1,4,8,16,32 --workshop
      two targets beside the workshop's table")]
pub struct ScaleArgs {
    /// What to run, each with flags of its own after a colon; with several the first is what the others are compared with
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<Entry>,
    /// Tokens per sample, several with commas between
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [64, 128, 256, 512])]
    seq_len: Vec<usize>,
    /// Samples per step, several with commas between
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [8])]
    batch_size: Vec<usize>,
    /// Rounds over the whole grid
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: usize,
    /// Of intervals, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0)]
    confidence: f64,
    /// Set what the workshop states about growth beside what was measured here
    #[arg(long)]
    workshop: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: RunFlags,
}

/// A target's time over the first one's, at a size that both ran at.
#[derive(Serialize)]
struct AtSize {
    size: Size,
    name: String,
    relative_time: RelativeTime,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    /// False when an interruption or a failure left cells out.
    complete: bool,
    rounds: usize,
    confidence: f64,
    scales: &'a [TargetScale],
    /// Over the first target; empty with a single one.
    over_the_first: &'a [AtSize],
    #[serde(skip_serializing_if = "Option::is_none")]
    workshop: Option<&'a [Confronted]>,
}

pub fn run(args: &ScaleArgs) -> Result<Exit> {
    finish(scale(args))
}

fn scale(args: &ScaleArgs) -> Result<Exit> {
    let measure = MeasureFlags {
        rounds: args.rounds,
        confidence: args.confidence,
    };
    let (rounds, confidence) = measure.checked()?;
    let sizes = sizes(args)?;
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let mut grid = Grid::new(&args.targets, args.flags.words(), sizes);
    let ended = grid.run(&runner, rounds, &mut console);
    drop(console);
    let scales = grid.scales(confidence);
    let over_the_first = grid.over_the_first(confidence);
    let confronted = args.workshop.then(|| workshop::scaling::confront(&scales));
    if args.json {
        print_json(&Document {
            complete: ended.is_ok(),
            rounds,
            confidence,
            scales: &scales,
            over_the_first: &over_the_first,
            workshop: confronted.as_deref(),
        })?;
    } else if scales.iter().any(|scale| !scale.cells.is_empty()) {
        let mut out = io::stdout().lock();
        print(&mut out, &scales, &over_the_first)?;
        if let Some(confronted) = &confronted {
            let table = workshop_table(confronted, &workshop::scaling::NOTES);
            print_table(&mut out, &table)?;
        }
    }
    ended?;
    Ok(Exit::Ok)
}

fn sizes(args: &ScaleArgs) -> Result<Vec<Size>, UsageError> {
    let all = args.seq_len.iter().flat_map(|sequence_length| {
        args.batch_size.iter().map(|batch_size| Size {
            sequence_length: *sequence_length,
            batch_size: *batch_size,
        })
    });
    let sizes = by_size(all.collect());
    if sizes
        .iter()
        .any(|size| size.sequence_length == 0 || size.batch_size == 0)
    {
        return Err(UsageError(
            "--seq-len and --batch-size: every number is at least 1".into(),
        ));
    }
    Ok(sizes)
}

fn print(
    out: &mut impl Write,
    scales: &[TargetScale],
    over_the_first: &[AtSize],
) -> io::Result<()> {
    for scale in scales {
        print_table(out, &tables::grid(scale))?;
        if scale.growths.is_empty() {
            writeln!(out, "\nA growth needs two sizes that ran.")?;
        } else {
            print_table(out, &tables::growth(scale))?;
        }
    }
    match scales {
        [first, ..] if !over_the_first.is_empty() => {
            print_table(out, &tables::over_the_first(&first.name, over_the_first))
        }
        _ => Ok(()),
    }
}
