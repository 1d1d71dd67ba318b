//! Finds what the tutor does not write in a run's event stream: another run than its command line asks for, a summary that is
//! not that of its steps, and steps longer than the time between them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use tinyllama_base::checksum::sha256_hex;
use tinyllama_base::quantile;
use tinyllama_contract::event::{Body, Event, Hello, Spread, Step, Summary};
use tinyllama_contract::flags::RunSpec;
use tinyllama_runs::recording::{Library, RecordingSource, documents};
use tinyllama_runs::{FinishedRun, Tape};
use tinyllama_session::RunEntry;

/// Largest relative difference between a figure and the same figure from another build.
const ROUNDING: f64 = 1e-9;
/// A line may be written late: its time may be off by this share of the run and so many milliseconds.
const LATE: (f64, f64) = (0.05, 500.0);
/// Steps that are so many times shorter than the time between them are worth a question,
const GAPS: f64 = 4.0;
/// if that time is longer than this, in milliseconds.
const SHORT_GAP: f64 = 100.0;

/// The steps of a stream, each with the time of its line.
#[derive(Default)]
struct Stream {
    hello: Option<Hello>,
    summary: Option<Summary>,
    steps: Vec<(f64, Step)>,
    times: Vec<f64>,
}

impl Stream {
    fn add(&mut self, event: &Event) {
        self.times.push(event.t);
        match &event.body {
            Body::Hello(hello) => self.hello = Some((**hello).clone()),
            Body::Summary(summary) => self.summary = Some((**summary).clone()),
            Body::Step(step) => self.steps.push((event.t, step.clone())),
            _ => {}
        }
    }
}

/// What the tutor does not write in the stream of a run that ended well, and what is unusual in it.
///
/// # Errors
/// Fails with the file system's message.
pub fn contradictions(
    run: &RunEntry,
    folder: &Path,
) -> std::io::Result<(Option<String>, Option<String>)> {
    let mut stream = Stream::default();
    let finished = FinishedRun::read_with(folder, |event| stream.add(event))?;
    let sha256 = &finished.sha256;
    let wrong = match played(&run.command) {
        Some(id) => recorded(run, id, sha256),
        None => disguised(sha256)
            .or_else(|| trained(run, &stream))
            .or_else(|| uneven(&stream)),
    };
    Ok((wrong, gaps(&stream)))
}

/// The id of the recording that a command plays.
pub fn played(command: &[String]) -> Option<&str> {
    match command {
        [.., recordings, play, id] if recordings == "recordings" && play == "play" => Some(id),
        _ => None,
    }
}

/// Where a recording of this program comes from, and the checksum of its stream.
struct Recorded {
    origin: String,
    sha256: String,
    /// True for a training run, false for the document of a command.
    is_run: bool,
}

/// All recordings of this program by id.
static LIBRARY: LazyLock<BTreeMap<String, Recorded>> = LazyLock::new(|| {
    let entry = |id: &str, origin, tape: &Tape, is_run| {
        let sha256 = checksum(tape);
        (
            id.to_owned(),
            Recorded {
                origin,
                sha256,
                is_run,
            },
        )
    };
    let library = Library::load(RecordingSource::BuiltIn).unwrap_or_default();
    let runs = library.recordings.iter().filter_map(|run| {
        let tape = library.tape(run).ok()?;
        Some(entry(&run.id, run.origin(), &tape, true))
    });
    let documents = documents::all().iter();
    let documents = documents.map(|it| entry(&it.id, it.origin(), &it.tape(), false));
    runs.chain(documents).collect()
});

/// Returns whether this program has the recording.
pub fn is_known(id: &str) -> bool {
    LIBRARY.contains_key(id)
}

fn checksum(tape: &Tape) -> String {
    sha256_hex(
        tape.lines
            .iter()
            .flat_map(|(_, line)| [line.as_str(), "\n"]),
    )
}

fn recorded(run: &RunEntry, id: &str, sha256: &str) -> Option<String> {
    let recorded = LIBRARY.get(id)?;
    let origin = &recorded.origin;
    if run.recording.as_ref() != Some(origin) {
        return Some(format!(
            "plays a recording ({origin}) and is not marked as one"
        ));
    }
    (recorded.sha256 != sha256).then(|| format!("does not have the stream of the recording `{id}`"))
}

/// A recording that is passed off as a run of the learner's machine. Documents may be the same on every machine.
fn disguised(sha256: &str) -> Option<String> {
    let mut runs = LIBRARY.iter().filter(|(_, it)| it.is_run);
    let (id, _) = runs.find(|(_, it)| it.sha256 == sha256)?;
    Some(format!(
        "has the stream of the recording `{id}` and is not marked as one"
    ))
}

/// Compares a training run with its command line.
fn trained(run: &RunEntry, stream: &Stream) -> Option<String> {
    if !run.command.iter().any(|word| word == "--events") {
        return None;
    }
    let Some(hello) = &stream.hello else {
        return Some("has a stream without the line that names the run".into());
    };
    if hello.target != run.target {
        return Some(format!(
            "is one of {}, and its stream is one of {}",
            run.target, hello.target
        ));
    }
    let refused = |error: &dyn std::fmt::Display| {
        let error = error.to_string();
        let (why, _) = error.split_once(';').unwrap_or((&error, ""));
        Some(format!(
            "has a command line that `run` does not take: {why}"
        ))
    };
    let spec = match RunSpec::parse(&run.target, run.flags()) {
        Ok(spec) => spec,
        Err(error) => return refused(&error),
    };
    let options = match spec.flags.options(spec.target) {
        Ok(options) => options,
        Err(error) => return refused(&error),
    };
    let flags = &options.flags;
    let asked = (
        options.config,
        options.recipe,
        flags.seed,
        flags.num_steps,
        flags.warmup,
    );
    let made = (
        hello.config,
        hello.recipe,
        hello.seed,
        hello.steps,
        hello.warmup,
    );
    let is_asked = asked == made && flags.learning_rate == hello.learning_rate;
    (!is_asked).then(|| "has the stream of another run than its command line asks for".into())
}

/// Compares the summary with the steps, and the steps with the times of their lines.
fn uneven(stream: &Stream) -> Option<String> {
    let hello = stream.hello.as_ref()?;
    let Some(summary) = stream.summary.as_ref().filter(|summary| summary.complete) else {
        return Some("ended well, and its stream has no end".into());
    };
    let is_counted = |(index, (_, step)): (usize, &(f64, Step))| {
        step.n == index + 1 && step.measured == (step.n > hello.warmup)
    };
    let is_whole = stream.steps.len() == hello.steps + hello.warmup
        && stream.steps.iter().enumerate().all(is_counted);
    if !is_whole {
        return Some("has other steps in its stream than it asked for".into());
    }
    if !is_sum(summary, stream) {
        return Some("has a summary that is not that of its steps".into());
    }
    let are_sorted = stream.times.is_sorted() && stream.times.iter().all(|t| t.is_finite());
    if !are_sorted {
        return Some("has a stream whose times go back".into());
    }
    let (first, last) = (stream.steps.first()?, stream.steps.last()?);
    let taken: f64 = stream
        .steps
        .iter()
        .skip(1)
        .map(|(_, step)| step.total_ms)
        .sum();
    let passed = (last.0 - first.0) * 1e3;
    (taken * (1.0 - LATE.0) - LATE.1 > passed)
        .then(|| format!("has steps of {taken:.0} ms in all, in a stream of {passed:.0} ms"))
}

fn is_sum(summary: &Summary, stream: &Stream) -> bool {
    let measured = || {
        stream
            .steps
            .iter()
            .map(|(_, step)| step)
            .filter(|step| step.measured)
    };
    let spread = |figure: fn(&Step) -> Option<f64>| {
        Spread::from_values(&measured().filter_map(figure).collect::<Vec<_>>())
    };
    let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= ROUNDING * a.abs().max(b.abs()),
        (a, b) => a.is_none() && b.is_none(),
    };
    let same = |a: Option<Spread>, b: Option<Spread>| {
        let figures = |spread: Option<Spread>| {
            let figures = spread.map(|it| [it.mean, it.median, it.p10, it.p90]);
            figures.map_or([None; 4], |figures| figures.map(Some))
        };
        figures(a)
            .into_iter()
            .zip(figures(b))
            .all(|(a, b)| close(a, b))
    };
    let (first, last) = (stream.steps.first(), stream.steps.last());
    let seconds = measured().map(|step| step.total_ms).sum::<f64>() / 1e3;
    let rate = (seconds > 0.0).then(|| summary.samples as f64 / seconds);
    summary.steps == stream.steps.len()
        && summary.measured_steps == measured().count()
        && same(summary.total_ms, spread(|step| Some(step.total_ms)))
        && same(summary.forward_ms, spread(|step| step.forward_ms))
        && same(summary.backward_ms, spread(|step| step.backward_ms))
        && same(summary.optimizer_ms, spread(|step| step.optimizer_ms))
        && close(summary.samples_per_s, rate)
        && close(summary.first_step_ms, first.map(|(_, step)| step.total_ms))
        && close(summary.first_loss, first.map(|(_, step)| step.loss))
        && close(summary.final_loss, last.map(|(_, step)| step.loss))
}

/// Steps that are much shorter than the time between their lines.
fn gaps(stream: &Stream) -> Option<String> {
    let pairs = stream.steps.iter().zip(stream.steps.iter().skip(1));
    let waited = pairs.filter(|(_, (_, step))| step.measured && step.synchronized);
    let (gaps, times): (Vec<f64>, Vec<f64>) = waited
        .map(|((before, _), (t, step))| ((t - before) * 1e3, step.total_ms))
        .unzip();
    let (gap, time) = (quantile(&gaps, 0.5)?, quantile(&times, 0.5)?);
    (gap > SHORT_GAP && gap > GAPS * time)
        .then(|| format!("has steps of {time:.1} ms, and {gap:.1} ms between their lines"))
}
