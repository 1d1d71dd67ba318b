//! `bench`: step times of targets side by side, each in a process of its own, in turns.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::training_args::UsageError;
use crate::model::{Target, human_bytes};
use crate::run::{Line, RunChild, RunCommand, folder};
use crate::train::event::{Body, Summary};

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Targets, each with flags of its own after a colon: `v1`, `v1:--graph-fusion=on`
    #[arg(required = true)]
    targets: Vec<Entry>,
    /// Rounds; in each every target runs once
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// A command that prints a JSON object a line with `variant` and `step_ms`; may be repeated
    #[arg(long, value_name = "COMMAND")]
    peer: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Flags for every target: `-- --config small --num-steps 60`
    #[arg(last = true, value_name = "RUN FLAGS")]
    flags: Vec<OsString>,
}

/// A target with its flags, as given on the command line.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    target: Target,
    flags: Vec<OsString>,
}

impl std::str::FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (target, flags) = text.split_once(':').unwrap_or((text, ""));
        Ok(Entry {
            name: text.replace(':', " "),
            target: target.parse()?,
            flags: flags.split_whitespace().map(OsString::from).collect(),
        })
    }
}

/// A row of the table.
#[derive(Clone, Debug, Serialize)]
struct Row {
    name: String,
    /// Medians of the rounds, in the order they ran.
    step_ms: Vec<f64>,
    samples_per_s: Vec<f64>,
    launches: Option<f64>,
    /// Taken from the device; for a peer the peak it reports.
    peak_bytes: Option<u64>,
    first_step_ms: Option<f64>,
}

pub fn run(args: &BenchArgs) -> Result<Exit> {
    if args.rounds == 0 {
        bail!(UsageError("--rounds is 0: nothing would run".into()));
    }
    let root = folder::state_folder()?;
    let mut rows: Vec<Row> = args
        .targets
        .iter()
        .map(|entry| empty_row(&entry.name))
        .collect();
    for round in 1..=args.rounds {
        for (entry, row) in args.targets.iter().zip(&mut rows) {
            eprintln!("round {round} of {}: {}", args.rounds, entry.name);
            add(row, &run_once(entry, &args.flags, &root)?);
        }
    }
    for peer in &args.peer {
        eprintln!("peer: {peer}");
        rows.extend(run_peer(peer)?);
    }
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)?;
    } else {
        print(&mut out, &rows)?;
    }
    Ok(Exit::Ok)
}

fn empty_row(name: &str) -> Row {
    Row {
        name: name.to_string(),
        step_ms: vec![],
        samples_per_s: vec![],
        launches: None,
        peak_bytes: None,
        first_step_ms: None,
    }
}

fn add(row: &mut Row, summary: &Summary) {
    row.step_ms
        .extend(summary.total_ms.map(|spread| spread.median));
    row.samples_per_s.extend(summary.samples_per_s);
    row.launches = summary.launches_per_step;
    row.peak_bytes = summary.peak_bytes_reserved;
    row.first_step_ms = row.first_step_ms.or(summary.first_step_ms);
}

fn run_once(entry: &Entry, flags: &[OsString], root: &std::path::Path) -> Result<Summary> {
    let mut all: Vec<OsString> = vec!["--sync=step".into(), "--repeatability=off".into()];
    all.extend(flags.iter().cloned());
    all.extend(entry.flags.iter().cloned());
    let command = RunCommand::local(entry.target.to_string(), all)?;
    let mut child = RunChild::start(&command, root)?;
    while let Some(line) = child.next_line()? {
        if let Line::Event(event) = line
            && let Body::Error(failure) = event.body
        {
            eprintln!("{}: {}\n  {}", entry.name, failure.message, failure.remedy);
        }
    }
    let exited = child.wait()?;
    match exited.folder.record.summary {
        Some(summary) if exited.status.success() => Ok(summary),
        _ => bail!(
            "{} ended with {}; its files are in {}\n{}",
            entry.name,
            exited.status,
            exited.folder.path().display(),
            exited.stderr
        ),
    }
}

/// Rows of a program that is no target of ours; what it prints beside JSON objects is passed over.
fn run_peer(command: &str) -> Result<Vec<Row>> {
    let output = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{command}`"))?;
    if !output.status.success() {
        bail!("`{command}` ended with {}", output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Row> = text.lines().filter_map(peer_row).collect();
    if rows.is_empty() {
        bail!("`{command}` printed no JSON line with `step_ms`:\n{text}");
    }
    Ok(rows)
}

fn peer_row(line: &str) -> Option<Row> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let number = |name: &str| value.get(name).and_then(serde_json::Value::as_f64);
    let words = ["peer", "cfg", "variant", "dtype"];
    let name: Vec<&str> = words
        .iter()
        .filter_map(|word| value.get(*word)?.as_str())
        .collect();
    Some(Row {
        name: name.join(" "),
        step_ms: vec![number("step_ms")?],
        samples_per_s: number("samples_s").into_iter().collect(),
        launches: number("kernels"),
        peak_bytes: number("peak_mb").map(|mebibytes| (mebibytes * 1024.0 * 1024.0) as u64),
        first_step_ms: None,
    })
}

fn median(values: &[f64]) -> Option<f64> {
    crate::train::event::Spread::of(values).map(|spread| spread.median)
}

fn print(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let width = rows
        .iter()
        .map(|row| row.name.len())
        .max()
        .unwrap_or(0)
        .max(8);
    writeln!(
        out,
        "{:<width$} {:>10} {:>21} {:>8} {:>11} {:>12} {:>12} {:>12}",
        "", "step ms", "range of rounds", "ratio", "samples/s", "launches", "memory", "first step"
    )?;
    let base = rows.first().and_then(|row| median(&row.step_ms));
    for row in rows {
        let middle = median(&row.step_ms);
        let number = |value: Option<f64>, digits: usize| {
            value.map_or("not reported".into(), |value| format!("{value:.digits$}"))
        };
        let range = match row.step_ms.as_slice() {
            [] | [_] => String::new(),
            several => {
                let (low, high) = several
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ms| {
                        (low.min(*ms), high.max(*ms))
                    });
                format!("{low:.3} to {high:.3}")
            }
        };
        writeln!(
            out,
            "{:<width$} {:>10} {:>21} {:>8} {:>11} {:>12} {:>12} {:>12}",
            row.name,
            number(middle, 3),
            range,
            number(middle.zip(base).map(|(ms, base)| ms / base), 3),
            number(median(&row.samples_per_s), 1),
            number(row.launches, 0),
            row.peak_bytes.map_or("not reported".into(), human_bytes),
            row.first_step_ms
                .map_or("-".into(), |ms| format!("{:.1} s", ms / 1e3)),
        )?;
    }
    writeln!(
        out,
        "ratio: step time over the first row's; memory: taken from the device, for peers the peak they report"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_follow_a_target_after_a_colon() {
        let entry: Entry = "v1:--graph-fusion=on --seed=3".parse().unwrap();
        assert_eq!(entry.target, Target::V1);
        assert_eq!(entry.flags, ["--graph-fusion=on", "--seed=3"]);
        assert!("v9".parse::<Entry>().unwrap_err().contains("v9"));
    }

    #[test]
    fn a_peers_line_is_read_and_other_lines_are_passed_over() {
        let row = peer_row(r#"{"cfg":"small","variant":"v1_tf32","step_ms":17.5,"kernels":null}"#)
            .unwrap();
        assert_eq!(
            (row.name.as_str(), row.step_ms.as_slice(), row.launches),
            ("small v1_tf32", &[17.5][..], None)
        );
        assert!(peer_row("2.11.0+cu130 NVIDIA H200").is_none());
    }
}
