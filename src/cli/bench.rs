//! `bench`: step times of targets and of other programs side by side.

use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{
    Console, Entry, MeasureFlags, RunFlags, SizeFlags, finish, paths, print_json, print_table,
    timed,
};
use crate::analysis::comparison::total_series;
use crate::analysis::relative::{RelativeTime, USUAL_MARGIN, middle};
use crate::analysis::turns::take_turns;
use crate::analysis::{MeasuredRun, RunFailure, Stop};
use crate::base::statistics::{Series, median};
use crate::base::table::{Align, TextTable};
use crate::base::units::{bytes_or_not, number_or_not};

#[derive(Debug, Args)]
#[command(after_help = r#"Examples:
  tinyllama-tutor bench v1 v1:--graph-fusion=on --config small
      two targets, three rounds
  tinyllama-tutor bench v4 --peer "python3 peer.py"
      beside a program of your own"#)]
pub struct BenchArgs {
    /// Targets, each with flags of its own after a colon: `v1`, `v1:--graph-fusion=on`
    #[arg(required = true)]
    targets: Vec<Entry>,
    #[command(flatten)]
    measure: MeasureFlags,
    /// Another program to set beside them: a command that prints a JSON object a line with `variant` and `step_ms`; may be repeated
    #[arg(long, value_name = "COMMAND")]
    peer: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeFlags,
    #[command(flatten)]
    flags: RunFlags,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    name: String,
    /// Medians of the rounds, in the order they ran; of a peer the one figure it prints.
    step_ms: Vec<f64>,
    samples_per_s: Option<f64>,
    launches: Option<f64>,
    /// Taken from the device; of a peer the peak it reports.
    peak_bytes: Option<u64>,
    /// Compiling and tuning included, in the first round.
    first_step_ms: Option<f64>,
    /// Step time over the first row's; null in the first row, and without an interval for peers, which ran afterwards.
    relative_time: Option<RelativeTime>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    rounds: usize,
    confidence: f64,
    rows: &'a [Row],
    runs: Vec<String>,
}

pub fn run(args: &BenchArgs) -> Result<Exit> {
    finish(bench(args))
}

fn bench(args: &BenchArgs) -> Result<Exit> {
    let (rounds, confidence) = args.measure.checked()?;
    let common = [timed(), args.flags.words(), args.size.words()].concat();
    let variants: Vec<_> = args
        .targets
        .iter()
        .map(|entry| entry.variant(&common))
        .collect();
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let runs = take_turns(&runner, &variants, rounds, &mut console)?;
    let base = runs.first().map(|runs| total_series(runs));
    let mut rows: Vec<Row> = Vec::new();
    for (variant, runs) in variants.iter().zip(&runs) {
        let base = base.as_deref().filter(|_| !rows.is_empty());
        rows.extend(row(&variant.name, runs, base, confidence));
    }
    for peer in &args.peer {
        console.say(&format!("peer: {peer}"));
        rows.extend(run_peer(peer, base.as_deref(), confidence, &stop)?);
    }
    drop(console);
    if args.json {
        print_json(&Document {
            rounds,
            confidence,
            rows: &rows,
            runs: paths(&runs),
        })?;
    } else {
        print_table(
            &mut io::stdout().lock(),
            &table(&rows, rounds, args.peer.is_empty()),
        )?;
    }
    Ok(Exit::Ok)
}

fn row(name: &str, runs: &[MeasuredRun], base: Option<&[Series]>, confidence: f64) -> Option<Row> {
    let (first, last) = (runs.first()?, runs.last()?);
    let series = total_series(runs);
    let samples = last.hello.config.batch_size as f64;
    Some(Row {
        name: name.to_string(),
        step_ms: series.iter().map(Series::median).collect(),
        samples_per_s: middle(&series).map(|ms| samples / (ms / 1e3)),
        launches: last.summary.launches_per_step,
        peak_bytes: last
            .summary
            .peak_bytes_reserved
            .or(last.summary.peak_bytes_in_use),
        first_step_ms: first.summary.first_step_ms,
        relative_time: base
            .and_then(|base| RelativeTime::in_rounds(&series, base, confidence, USUAL_MARGIN)),
    })
}

/// Rows of a program that is no target of ours; what it prints beside JSON objects is passed over.
fn run_peer(
    command: &str,
    base: Option<&[Series]>,
    confidence: f64,
    stop: &Stop,
) -> Result<Vec<Row>> {
    let output = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{command}`"))?;
    if let Some(signal) = stop.signal() {
        bail!(RunFailure::Interrupted { signal });
    }
    if !output.status.success() {
        bail!("`{command}` ended with {}", output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Row> = text
        .lines()
        .filter_map(|line| peer_row(line, base, confidence))
        .collect();
    if rows.is_empty() {
        bail!("`{command}` printed no JSON line with a `step_ms` above zero:\n{text}");
    }
    Ok(rows)
}

fn peer_row(line: &str, base: Option<&[Series]>, confidence: f64) -> Option<Row> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let number = |name: &str| value.get(name).and_then(serde_json::Value::as_f64);
    let words = ["peer", "cfg", "variant", "dtype"];
    let name: Vec<&str> = words
        .iter()
        .filter_map(|word| value.get(*word)?.as_str())
        .collect();
    let step_ms = Series::new(vec![number("step_ms")?]).ok()?;
    Some(Row {
        name: name.join(" "),
        step_ms: step_ms.values().to_vec(),
        samples_per_s: number("samples_s"),
        launches: number("kernels"),
        peak_bytes: number("peak_mb").map(|mebibytes| (mebibytes * 1024.0 * 1024.0) as u64),
        first_step_ms: None,
        relative_time: base
            .and_then(|base| RelativeTime::of_runs(&[step_ms], base, confidence, USUAL_MARGIN)),
    })
}

fn table(rows: &[Row], rounds: usize, no_peers: bool) -> TextTable {
    let mut table = TextTable::new(
        format!(
            "Step times, {rounds} round{}",
            if rounds == 1 { "" } else { "s" }
        ),
        &[
            ("", Align::Left),
            ("step ms", Align::Right),
            ("rounds", Align::Right),
            ("over the first row", Align::Right),
            ("samples/s", Align::Right),
            ("launches", Align::Right),
            ("memory", Align::Right),
            ("first step", Align::Right),
        ],
    );
    for row in rows {
        let over =
            row.relative_time
                .as_ref()
                .map_or("-".into(), |time| match time.finding.is_some() {
                    true => format!("{} {}", time.speedup_text(), time.finding_text()),
                    false => time.speedup_text(),
                });
        table.rows.push(vec![
            row.name.clone(),
            number_or_not(median(&row.step_ms), 3),
            range(&row.step_ms),
            over,
            number_or_not(row.samples_per_s, 1),
            number_or_not(row.launches, 0),
            bytes_or_not(row.peak_bytes),
            row.first_step_ms
                .map_or("-".into(), |ms| format!("{:.1} s", ms / 1e3)),
        ]);
    }
    table.notes.push(
        "over the first row: how many times faster; memory: taken from the device; first step: of the first round, compiling and tuning included"
            .into(),
    );
    if !no_peers {
        table.notes.push(
            "peers ran once, after the rounds, and say themselves how they measured: a ratio with them has no interval"
                .into(),
        );
    }
    table
}

fn range(values: &[f64]) -> String {
    match Series::new(values.to_vec()) {
        Ok(series) if values.len() > 1 => {
            format!("{:.3} to {:.3}", series.quantile(0.0), series.quantile(1.0))
        }
        _ => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_line_is_read_and_other_lines_are_passed_over() {
        let base = [Series::new(vec![35.0]).unwrap()];
        let read = |line: &str| peer_row(line, Some(&base), 0.95);
        let row =
            read(r#"{"cfg":"small","variant":"v1_tf32","step_ms":17.5,"kernels":null}"#).unwrap();
        assert_eq!(
            (row.name.as_str(), row.step_ms.as_slice(), row.launches),
            ("small v1_tf32", &[17.5][..], None)
        );
        let time = row.relative_time.unwrap();
        assert_eq!((time.ratio, time.interval), (0.5, None));
        assert!(read("2.11.0+cu130 NVIDIA H200").is_none());
        assert!(read(r#"{"variant":"broken","step_ms":0.0}"#).is_none());
    }
}
