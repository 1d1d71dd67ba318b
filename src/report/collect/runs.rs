//! Every run with its circumstances, figures and samples.

use std::sync::Arc;

use itertools::Itertools;

use super::ceilings;
use crate::document::Samples;
use crate::{Device, RunReport, StepTime, Work, text};
use tinyllama_analysis::calibration::Calibration;
use tinyllama_base::{Series, Share, whole_percent};
use tinyllama_contract::{Hello, Parts};
use tinyllama_lesson::case::fix_of;
use tinyllama_runs::Metric;
use tinyllama_runs::recording::{Library, RecordingSource};
use tinyllama_runs::{FinishedRun, FinishedRuns};
use tinyllama_session::{RunEntry, RunExit, SessionState};

/// A spread above this share of the median step time is called noise.
const NOISY: f64 = 0.10;

/// Collects the runs in the order of their start, and the devices that they name.
pub fn collect(
    state: &SessionState,
    files: &FinishedRuns,
    calibrations: &[Calibration],
) -> (Vec<RunReport>, Vec<Device>) {
    let mut devices = Vec::new();
    let runs = state
        .runs
        .iter()
        .sorted_by_key(|(_, run)| run.number)
        .map(|(id, run)| of_run(id, run, files, calibrations, &mut devices))
        .collect();
    (runs, devices)
}

fn of_run(
    id: &str,
    run: &RunEntry,
    files: &FinishedRuns,
    calibrations: &[Calibration],
    devices: &mut Vec<Device>,
) -> RunReport {
    let mut warnings = Vec::new();
    let finished = match files.get(id) {
        Ok(Some(finished)) => finished,
        Ok(None) => {
            warnings.push("Its files are gone; these values come from the session.".into());
            Arc::default()
        }
        Err(error) => {
            warnings.push(format!("Its files cannot be read: {error}"));
            Arc::default()
        }
    };
    let work = finished
        .reported
        .parts
        .as_ref()
        .map(|parts| work(parts, &finished, run, calibrations, &mut warnings));
    let hello = finished.reported.hello.as_ref();
    let series = finished.measurements.series(Metric::TotalMs);
    let step_time = series.as_ref().map(step_time);
    let synchronized = finished.synchronized;
    warnings.extend(doubts(run, step_time, synchronized));
    let at = run.at.as_ref();
    RunReport {
        id: id.into(),
        lesson: at.map(|at| at.lesson.clone()),
        step: at.map(|at| at.step.clone()),
        target: run.target.clone(),
        fix: fix(&run.command),
        command: command_line(&run.command),
        started: run.started.clone(),
        host: Some(run.host.clone()),
        exit: text::exit(run.exit.as_ref()),
        complete: run.exit == Some(RunExit::Status(0)),
        recording: run.recording.clone(),
        device: hello.map(|hello| device(hello, run.recording.is_some(), devices)),
        config: hello.map(|hello| hello.config),
        dtype: hello.map(|hello| hello.dtype.clone()),
        seed: hello.map(|hello| hello.seed),
        warmup: hello.map(|hello| hello.warmup),
        synchronized,
        figures: run.values.clone(),
        step_time,
        ratio: None,
        samples: samples(&finished),
        work,
        kernels: finished
            .reported
            .kernels
            .as_ref()
            .map(|kernels| kernels.kernels.clone())
            .unwrap_or_default(),
        error: finished
            .reported
            .error
            .as_ref()
            .map(|failure| failure.message.clone()),
        warnings,
        sha256: run.sha256.clone(),
    }
}

/// Reasons not to trust the figures of a run.
fn doubts(
    run: &RunEntry,
    step_time: Option<StepTime>,
    synchronized: Option<bool>,
) -> impl Iterator<Item = String> {
    let noise = step_time.filter(|time| time.spread > NOISY).map(|time| {
        format!(
            "Noisy: the middle four fifths of its steps spread over {} of the median.",
            whole_percent(Share(time.spread))
        )
    });
    let clock = (synchronized == Some(false))
        .then(|| "Not synchronised: its clock was read before the device had finished.".into());
    let [with, of] = ["parameters_with_gradient", "parameter_tensors"].map(|it| run.values.get(it));
    let gradients = with.zip(of).filter(|(with, of)| with < of);
    let gradients = gradients.map(|(with, of)| {
        format!("Only {with} of {of} parameter tensors received a gradient: this is not training.")
    });
    [noise, clock, gradients].into_iter().flatten()
}

/// The fix of a run, or of the recording that was played in its place.
fn fix(command: &[String]) -> Option<String> {
    if let [.., play, id] = command
        && play == "play"
    {
        let recorded = &Library::load(RecordingSource::BuiltIn).ok()?;
        let recorded = shlex::split(&recorded.find(id).ok()?.command)?;
        return fix_of(&recorded).map(str::to_owned);
    }
    fix_of(command).map(str::to_owned)
}

/// Quotes a command line for a shell.
fn command_line(argv: &[String]) -> String {
    shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_else(|_| argv.join(" "))
}

fn device(hello: &Hello, recording: bool, devices: &mut Vec<Device>) -> usize {
    let found = Device {
        name: hello.device.clone(),
        arch: hello.arch.clone(),
        backend: hello.backend.clone(),
        driver: hello.driver.clone(),
        memory: hello.device_memory,
        recording,
        runs: 0,
    };
    let new = |known: &Device| Device {
        runs: 0,
        ..known.clone()
    };
    let known = devices.iter().position(|known| new(known) == found);
    let place = known.unwrap_or_else(|| {
        devices.push(found);
        devices.len() - 1
    });
    devices[place].runs += 1;
    place
}

fn step_time(series: &Series) -> StepTime {
    StepTime {
        median: series.median(),
        p10: series.quantile(0.1),
        p90: series.quantile(0.9),
        spread: series.relative_spread(),
        steps: series.values().len(),
    }
}

fn samples(run: &FinishedRun) -> Samples {
    let values = |metric| {
        run.measurements
            .series(metric)
            .map_or_else(Vec::new, |series: Series| series.values().to_vec())
    };
    Samples {
        total_ms: values(Metric::TotalMs),
        forward_ms: values(Metric::ForwardMs),
        backward_ms: values(Metric::BackwardMs),
        optimizer_ms: values(Metric::OptimizerMs),
        loss: run
            .losses
            .iter()
            .map(|loss| Some(*loss).filter(|loss| loss.is_finite()))
            .collect(),
    }
}

fn work(
    parts: &Parts,
    finished: &FinishedRun,
    run: &RunEntry,
    calibrations: &[Calibration],
    warnings: &mut Vec<String>,
) -> Work {
    let (ceilings, stale) = finished
        .reported
        .hello
        .as_ref()
        .map_or_else(Default::default, |hello| {
            ceilings::of_run(hello, calibrations, run.recording.is_some())
        });
    warnings.extend(stale);
    Work {
        source: parts.source.clone(),
        flops_per_step: parts.flops_per_step,
        bytes_per_step: parts.bytes_per_step,
        achieved_flops_per_s: parts.achieved_flops_per_s,
        parts: parts.parts.clone(),
        ceilings,
    }
}
