//! `recordings`: runs of other machines, kept to be looked at and played.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Exit;
use super::analysis::{Page, plural};
use super::output::Lines;
use crate::base::table::Columns;
use crate::recording::{Library, Recording, RecordingError, Source};
use crate::run::play::{Player, Speed};
use crate::run::spec::split;
use crate::run::{Control, Line, Measurements, Metric, Statistic, read_line};
use crate::train::EventSink;

#[derive(Debug, Args)]
pub struct RecordingsArgs {
    /// Take the recordings of this folder instead of the built-in ones
    #[arg(long, value_name = "DIR", global = true, env = "TINYLLAMA_RECORDINGS")]
    recordings: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the recordings
    List,
    /// Say what a recording shows and where it comes from
    Show {
        /// Id of the recording
        id: String,
    },
    /// Play a recording, as its run went
    Play {
        /// Id of the recording
        id: String,
        /// How fast: 1, 4, 16, or end for no waiting
        #[arg(long, default_value = "1")]
        speed: Speed,
        /// Print the recorded event stream instead of words, as --json does
        #[arg(long)]
        events: bool,
    },
}

pub fn run(args: &RecordingsArgs) -> Result<Exit> {
    match carry_out(args) {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => match error.downcast::<RecordingError>() {
            Ok(error) => {
                eprintln!("error: {error}\n       {}", error.remedy());
                Ok(Exit::Usage)
            }
            Err(error) if is_closed_pipe(&error) => Ok(Exit::Ok),
            Err(error) => Err(error),
        },
    }
}

/// Whoever closed the output has seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let source = error.downcast_ref::<io::Error>();
    source.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn carry_out(args: &RecordingsArgs) -> Result<()> {
    let library = Library::load(Source::new(args.recordings.clone()))?;
    let mut out = io::stdout().lock();
    match &args.command {
        Command::List => list(&mut out, &library, args.json),
        Command::Show { id } => show(&mut out, &library, library.find(id)?, args.json),
        Command::Play { id, speed, events } => {
            let recording = library.find(id)?;
            play(&mut out, &library, recording, *speed, *events || args.json)
        }
    }
}

fn list(out: &mut impl Write, library: &Library, as_json: bool) -> Result<()> {
    if as_json {
        let all: Vec<Value> = library.all().iter().map(entry).collect();
        writeln!(out, "{:#}", json!({ "recordings": all }))?;
        return Ok(());
    }
    if library.all().is_empty() {
        writeln!(out, "There are no recordings.")?;
    }
    let title = format!(
        "{}; `recordings play ID`",
        plural(library.all().len(), "recording")
    );
    let mut page = Page::default();
    page.table(
        Columns::of(title, library.all())
            .left("id", |recording| recording.id.clone())
            .left("target", |recording| {
                format!("{} {}", recording.target, recording.config)
            })
            .left("with", told_apart)
            .left("made on", |recording| recording.machine.clone())
            .left("date", |recording| recording.date.to_string()),
    );
    write!(out, "{}", page.to_string().trim_start_matches('\n'))?;
    Ok(())
}

/// The flags that tell recordings of a target apart: all but those of size and length.
fn told_apart(recording: &Recording) -> Option<String> {
    const COMMON: [&str; 5] = [
        "--config",
        "--warmup",
        "--num-steps",
        "--flops",
        "--profile-steps",
    ];
    let words = recording.command.split(' ').skip(2);
    let flags = split(words).into_iter();
    let flags = flags.filter(|flag| !COMMON.contains(&flag.name()));
    let flags: Vec<String> = flags.map(|flag| flag.words().join(" ")).collect();
    (!flags.is_empty()).then(|| flags.join(" "))
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

fn show(
    out: &mut impl Write,
    library: &Library,
    recording: &Recording,
    as_json: bool,
) -> Result<()> {
    let lines = library.tape(recording)?.lines;
    let seconds = lines.last().map(|(t, _)| *t);
    let mut measured = Measurements::default();
    for (_, line) in &lines {
        if let Line::Event(event) = read_line(line) {
            measured.add(&event.body);
        }
    }
    let figures = Metric::ALL.into_iter().filter_map(|metric| {
        let value = measured.value(metric, Statistic::Median)?;
        Some((metric, value))
    });
    if as_json {
        let figures: serde_json::Map<String, Value> = figures
            .map(|(metric, value)| (metric.name().to_owned(), json!(value)))
            .collect();
        let mut entry = entry(recording);
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("seconds".into(), json!(seconds));
            entry.insert("figures".into(), Value::Object(figures));
        }
        writeln!(out, "{entry:#}")?;
        return Ok(());
    }
    writeln!(out, "{}: {}\n", recording.id, recording.label())?;
    let mut page = Page::default();
    page.paragraph(&format!("tinyllama-tutor {}", recording.command));
    write!(out, "{page}")?;
    let driver = recording.driver.as_deref().unwrap_or("not reported");
    writeln!(out, "  driver {driver}, program {}", recording.version)?;
    if let Some(seconds) = seconds {
        writeln!(out, "  {seconds:.1} s from start to end")?;
    }
    if let Some(remark) = &recording.remark {
        let mut page = Page::default();
        page.paragraph(&format!("remark: {remark}"));
        write!(out, "{page}")?;
    }
    writeln!(out)?;
    for (metric, value) in figures {
        writeln!(out, "  {:<26} {}", metric.name(), metric.unit().show(value))?;
    }
    Ok(())
}

fn play(
    out: &mut impl Write,
    library: &Library,
    recording: &Recording,
    speed: Speed,
    as_events: bool,
) -> Result<()> {
    let tape = library.tape(recording)?;
    if !as_events {
        writeln!(out, "{}", recording.label())?;
    }
    let control = Control::default();
    control.set_speed(speed);
    let mut lines = Lines::new(io::stdout());
    for line in Player::new(&tape.lines, &control) {
        if as_events {
            writeln!(out, "{line}")?;
        } else if let Line::Event(event) = read_line(line) {
            lines.event(&event)?;
        }
        out.flush()?;
    }
    Ok(())
}
