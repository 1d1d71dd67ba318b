//! `recordings`: runs of other machines, kept to be looked at and played.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Exit;
use crate::recording::{Library, Recording, RecordingError, Source};
use crate::run::play::{Player, Speed};
use crate::run::{Control, Line, Measurements, Metric, Statistic, read_line};
use crate::tutor::say;

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
    let widest = |text: fn(&Recording) -> usize| library.all().iter().map(text).max().unwrap_or(0);
    let id = widest(|recording| recording.id.len());
    let target = widest(|recording| recording.target.name.len() + recording.config.len() + 1);
    for recording in library.all() {
        let what = format!("{} {}", recording.target, recording.config);
        writeln!(
            out,
            "{:id$}  {what:target$}  {}",
            recording.id,
            recording.origin()
        )?;
    }
    Ok(())
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
    writeln!(out, "  tinyllama-tutor {}", recording.command)?;
    let driver = recording.driver.as_deref().unwrap_or("not reported");
    writeln!(out, "  driver {driver}, program {}", recording.version)?;
    if let Some(seconds) = seconds {
        writeln!(out, "  {seconds:.1} s from start to end")?;
    }
    if let Some(remark) = &recording.remark {
        writeln!(out, "  remark: {remark}")?;
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
    for line in Player::new(&tape.lines, &control) {
        if as_events {
            writeln!(out, "{line}")?;
        } else if let Line::Event(event) = read_line(line)
            && let Some(words) = say::event(&event)
        {
            writeln!(out, "{words}")?;
        }
        out.flush()?;
    }
    Ok(())
}
