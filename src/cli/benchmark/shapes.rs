//! `benchmark v4`: with and without its graph, at several shapes, in turns.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::analysis::comparison::total_series;
use crate::analysis::relative::{factor, middle};
use crate::analysis::scaling::Size;
use crate::analysis::turns::{Turn, run_one};
use crate::analysis::{MeasuredRun, RunFailure, Runner, Stop, Variant};
use crate::base::table::{Align, TextTable};
use crate::base::units::{bytes_or_not, number_or_not};
use crate::cli::Exit;
use crate::cli::analysis::{Console, Entry, RunFlags, finish, print_json, print_table, timed};
use crate::cli::training_args::UsageError;

#[derive(Debug, Args)]
pub struct ShapesArgs {
    /// Samples per step, several with commas between
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 8, 32])]
    batch_size: Vec<usize>,
    /// Tokens per sample, several with commas between
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [128])]
    seq_len: Vec<usize>,
    /// Put this beside it too, with flags of its own after a colon: `v1`, `v2:--graph-fusion=on`; may be repeated
    #[arg(long, value_name = "TARGET")]
    with: Vec<Entry>,
    /// Rounds; in each everything runs once, in turns
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: RunFlags,
}

/// One way to run at one shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    batch_size: usize,
    sequence_length: usize,
    name: String,
    /// Median of the rounds' medians.
    step_ms: f64,
    step_ms_of_rounds: Vec<f64>,
    /// Of the uncaptured schedule's step time at this shape over this one's.
    speed_up: Option<f64>,
    tokens_per_s: f64,
    /// Most that was taken from the device.
    peak_bytes: Option<u64>,
    /// From the host, and kernels of a replayed graph.
    launches: Option<f64>,
    captured: Option<f64>,
    matmul_precision: String,
}

#[derive(Serialize)]
struct Document<'a> {
    device: Option<&'a str>,
    complete: bool,
    rows: &'a [Row],
}

pub fn run(args: &ShapesArgs) -> Result<Exit> {
    finish(measure(args))
}

fn measure(args: &ShapesArgs) -> Result<Exit> {
    if args.rounds == 0 {
        return Err(UsageError("--rounds is 0: nothing would run".into()).into());
    }
    let sizes = sizes(args)?;
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let variants: Vec<(Size, Variant)> = sizes
        .iter()
        .flat_map(|size| variants(args, *size))
        .collect();
    let mut runs = HashMap::new();
    let mut console = Console::default();
    let ended = run_all(args.rounds, &variants, &runner, &mut console, &mut runs);
    drop(console);
    let rows = rows(&variants, &runs);
    let device = runs.values().flatten().next().map(|run| &run.hello.device);
    if args.json {
        print_json(&Document {
            device: device.map(String::as_str),
            complete: ended.is_ok(),
            rows: &rows,
        })?;
    } else if let Some(device) = device {
        print_table(&mut io::stdout().lock(), &table(device, &rows))?;
    }
    ended?;
    Ok(Exit::Ok)
}

fn sizes(args: &ShapesArgs) -> Result<Vec<Size>, UsageError> {
    let numbers = || args.seq_len.iter().chain(&args.batch_size);
    if numbers().any(|number| *number == 0) {
        return Err(UsageError(
            "--seq-len and --batch-size: every number is at least 1".into(),
        ));
    }
    let of_length = |sequence_length: &usize| {
        let sequence_length = *sequence_length;
        args.batch_size.iter().map(move |batch_size| Size {
            sequence_length,
            batch_size: *batch_size,
        })
    };
    Ok(args.seq_len.iter().flat_map(of_length).collect())
}

/// Everything that runs at a size; the uncaptured schedule comes first.
fn variants(args: &ShapesArgs, size: Size) -> Vec<(Size, Variant)> {
    let shape: [OsString; 2] = [
        format!("--seq-len={}", size.sequence_length).into(),
        format!("--batch-size={}", size.batch_size).into(),
    ];
    let common = [timed(), args.flags.words(), shape.to_vec()].concat();
    let ultra = |switch: &str| Entry {
        target: "v4".into(),
        flags: vec![format!("--ultra={switch}").into()],
    };
    let mut entries = vec![ultra("off"), ultra("on")];
    entries.extend(args.with.iter().cloned());
    entries
        .iter()
        .map(|entry| (size, entry.variant(&common)))
        .collect()
}

/// Runs by place in `variants`.
type Runs = HashMap<usize, Vec<MeasuredRun>>;

fn run_all(
    rounds: usize,
    variants: &[(Size, Variant)],
    runner: &Runner,
    console: &mut Console,
    runs: &mut Runs,
) -> Result<(), RunFailure> {
    let of = rounds * variants.len();
    for round in 0..rounds {
        for (at, (size, variant)) in variants.iter().enumerate() {
            let (batch, sequence) = (size.batch_size, size.sequence_length);
            let name = format!("{}, batch {batch} x {sequence}", variant.name);
            let turn = Turn {
                run: round * variants.len() + at + 1,
                of,
                name: &name,
            };
            let run = run_one(runner, variant, &[], turn, console)?;
            runs.entry(at).or_default().push(run);
        }
    }
    Ok(())
}

fn rows(variants: &[(Size, Variant)], runs: &Runs) -> Vec<Row> {
    let mut rows: Vec<Row> = variants
        .iter()
        .enumerate()
        .filter_map(|(at, (size, variant))| row(*size, &variant.name, runs.get(&at)?))
        .collect();
    let standard = |row: &Row, rows: &[Row]| {
        let same = |other: &&Row| {
            (other.batch_size, other.sequence_length) == (row.batch_size, row.sequence_length)
        };
        rows.iter().find(same).map(|first| first.step_ms)
    };
    let first: Vec<Option<f64>> = rows.iter().map(|row| standard(row, &rows)).collect();
    for (row, standard) in rows.iter_mut().zip(first) {
        row.speed_up = standard.map(|standard| standard / row.step_ms);
    }
    rows
}

fn row(size: Size, name: &str, runs: &[MeasuredRun]) -> Option<Row> {
    let last = runs.last()?;
    let series = total_series(runs);
    let step_ms = middle(&series)?;
    Some(Row {
        batch_size: size.batch_size,
        sequence_length: size.sequence_length,
        name: name.into(),
        step_ms,
        step_ms_of_rounds: series.iter().map(|series| series.median()).collect(),
        speed_up: None,
        tokens_per_s: (size.batch_size * size.sequence_length) as f64 / (step_ms / 1e3),
        peak_bytes: last
            .summary
            .peak_bytes_reserved
            .or(last.summary.peak_bytes_in_use),
        launches: last.summary.launches_per_step,
        captured: last.summary.captured_per_step,
        matmul_precision: last.hello.matmul_precision.clone(),
    })
}

fn table(device: &str, rows: &[Row]) -> TextTable {
    let mut table = TextTable::new(
        format!("V4 on {device}"),
        &[
            ("", Align::Left),
            ("batch", Align::Right),
            ("tokens", Align::Right),
            ("step ms", Align::Right),
            ("speed-up", Align::Right),
            ("tokens/s", Align::Right),
            ("memory", Align::Right),
            ("launches", Align::Right),
            ("in a graph", Align::Right),
        ],
    );
    for row in rows {
        table.rows.push(vec![
            row.name.clone(),
            row.batch_size.to_string(),
            row.sequence_length.to_string(),
            format!("{:.3}", row.step_ms),
            row.speed_up.map_or_else(String::new, factor),
            format!("{:.0}", row.tokens_per_s),
            bytes_or_not(row.peak_bytes),
            number_or_not(row.launches, 0),
            number_or_not(row.captured, 0),
        ]);
    }
    table.notes.push(
        "speed-up: over v4 --ultra=off at the same shape, which is the same schedule launch by launch".into(),
    );
    if rows.iter().all(|row| row.captured.is_none()) {
        table.notes.push(
            "nothing was captured here: both rows of v4 are the same work, and what they differ by is noise".into(),
        );
    }
    if let Some(first) = rows.first() {
        let products = &first.matmul_precision;
        table.notes.push(format!("v4's products: {products}"));
    }
    table
}
