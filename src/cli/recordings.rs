//! `recordings`: shows and plays recorded runs of other machines.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Exit;
use super::analysis::{AnalysisPage, plural};
use super::print_result::print_page;
use super::run_printers::LinePrinter;
use tinyllama_base::table::TableColumns;
use tinyllama_base::terminal::Stdout;
use tinyllama_base::{NOT_REPORTED, duration};
use tinyllama_contract::flags::parse_flags;
use tinyllama_engine::train::EventSink;
use tinyllama_runs::play::{Player, Speed};
use tinyllama_runs::recording::{Library, Recording, RecordingSource};
use tinyllama_runs::{Control, Line, Measurements, Metric, Statistic, read_line};

#[derive(Debug, Args)]
pub struct RecordingsArgs {
    /// Use the recordings in this folder instead of the built-in ones
    #[arg(long, value_name = "DIR", global = true, env = "TINYLLAMA_RECORDINGS")]
    recordings: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: RecordingsCommand,
}

#[derive(Debug, Subcommand)]
enum RecordingsCommand {
    /// List the recordings
    List,
    /// Show what a recording contains and where it comes from
    Show {
        /// Id of the recording
        #[arg(value_name = "RECORDING")]
        id: String,
    },
    /// Play a recording at the pace of its run
    Play {
        /// Id of the recording
        #[arg(value_name = "RECORDING")]
        id: String,
        /// A factor such as 4 or 0.5, or end for no waiting
        #[arg(long, default_value = "1")]
        speed: Speed,
        /// Print the recorded event stream instead of text, as --json does
        #[arg(long)]
        events: bool,
    },
}

pub fn run(args: &RecordingsArgs) -> Result<Exit> {
    let library = Library::load(RecordingSource::new(args.recordings.clone()))?;
    match &args.command {
        RecordingsCommand::List => list(&library, args.json),
        RecordingsCommand::Show { id } => show(&library, library.find(id)?, args.json),
        RecordingsCommand::Play { id, speed, events } => {
            let recording = library.find(id)?;
            play(&library, recording, *speed, *events || args.json)
        }
    }
}

fn list(library: &Library, as_json: bool) -> Result<Exit> {
    let all: Vec<Value> = library.recordings.iter().map(entry).collect();
    let mut page = AnalysisPage::default();
    if all.is_empty() {
        page.line("There are no recordings.");
    }
    let title = format!("{}; `recordings play ID`", plural(all.len(), "recording"));
    page.first_table(
        TableColumns::titled(title, &library.recordings)
            .left("id", |recording| recording.id.clone())
            .left("target", |recording| {
                format!("{} {}", recording.target, recording.config)
            })
            .left("with", distinguishing_flags)
            .left("made on", |recording| recording.machine.clone())
            .left("date", |recording| recording.date.to_string()),
    );
    print_page(as_json, &json!({ "recordings": all }), &page)
}

/// The flags that distinguish recordings of a target: all except those for size and length.
fn distinguishing_flags(recording: &Recording) -> Option<String> {
    const COMMON: &str = "--config --warmup --num-steps --flops --profile-steps";
    let args = recording.command.split(' ').skip(2);
    let flags = parse_flags(args).into_iter();
    let flags = flags.filter(|flag| COMMON.split(' ').all(|common| common != flag.name()));
    let flags = itertools::join(flags.map(|flag| flag.args().join(" ")), " ");
    (!flags.is_empty()).then_some(flags)
}

fn entry(recording: &Recording) -> Value {
    json!({
        "id": recording.id,
        "target": recording.target.name,
        "config": recording.config,
        "machine": recording.machine,
        "driver": recording.driver,
        "date": recording.date.to_string(),
        "version": recording.version,
        "command": recording.command,
        "remark": recording.remark,
        "label": recording.label(),
    })
}

fn show(library: &Library, recording: &Recording, as_json: bool) -> Result<Exit> {
    let lines = library.tape(recording)?.lines;
    let seconds = lines.last().map(|(t, _)| *t);
    let mut measured = Measurements::default();
    for (_, line) in &lines {
        if let Line::Event(event) = read_line(line) {
            measured.add(&event);
        }
    }
    let figures = Metric::ALL.into_iter().filter_map(|metric| {
        let value = measured.value(metric, Statistic::Median)?;
        Some((metric, value))
    });
    let figures: Vec<(Metric, f64)> = figures.collect();
    let values = figures.iter();
    let values = values.map(|(metric, value)| (metric.name().to_owned(), json!(value)));
    let mut document = entry(recording);
    document["seconds"] = json!(seconds);
    document["figures"] = Value::Object(values.collect());
    let mut page = AnalysisPage::default();
    page.line(format_args!("{}: {}\n", recording.id, recording.label()));
    page.line(format_args!("    tinyllama-tutor {}\n", recording.command));
    let driver = recording.driver.as_deref().unwrap_or(NOT_REPORTED);
    page.line(format_args!(
        "  driver {driver}, program {}",
        recording.version
    ));
    if let Some(seconds) = seconds {
        page.line(format_args!("  {} from start to end", duration(seconds)));
    }
    if let Some(remark) = &recording.remark {
        page.paragraph(&format!("remark: {remark}"));
    }
    page.table(
        TableColumns::titled("Figures of its measured steps", &figures)
            .left("figure", |(metric, _)| metric.name().to_owned())
            .right("median", |(metric, value)| metric.unit().show(*value))
            .left("from", |(metric, _)| metric.origin().to_owned()),
    );
    print_page(as_json, &document, &page)
}

fn play(library: &Library, recording: &Recording, speed: Speed, as_events: bool) -> Result<Exit> {
    let mut out = Stdout;
    let tape = library.tape(recording)?;
    if !as_events {
        writeln!(out, "{}", recording.label())?;
    }
    let control = Control::default();
    control.set_speed(speed);
    let mut lines = LinePrinter::new(Stdout);
    for line in Player::new(&tape.lines, &control) {
        if as_events {
            writeln!(out, "{line}")?;
        } else if let Line::Event(event) = read_line(line) {
            lines.event(&event)?;
        }
        out.flush()?;
    }
    Ok(Exit::Ok)
}
