//! Formats values as text, equally in every format.

use crate::{
    CaseReport, Device, HotspotRow, KernelReport, LessonReport, Prediction, ProfileReport, Ratio,
    Report, ReportTable, RunReport, StageRow, StepTime, Work,
};
use tinyllama_analysis::parts::PartSum;
use tinyllama_base::{
    Percentage, Share, human_bytes, milliseconds, moment, number_or_not, or_not_reported, percent,
    plural, time, times,
};
use tinyllama_runs::Metric;
use tinyllama_runs::{ENERGY, Joules};
use tinyllama_session::RunExit;
use tinyllama_session::progress::done_and_skipped;

/// Text for a figure that a backend cannot report.
pub use tinyllama_base::units::NOT_REPORTED;

/// Formats a time that a backend may not report.
pub fn milliseconds_or_not(ms: Option<f64>) -> String {
    or_not_reported(ms.map(milliseconds))
}

pub fn minutes(value: f64) -> String {
    // `abs`, because the sum of no numbers is -0.
    format!("{:.0} min", value.abs())
}

/// Shortens a list of names.
pub fn some_of(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    match names.len() {
        count if count > SHOWN => {
            format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN)
        }
        _ => names.join(", "),
    }
}

pub fn exit(exit: Option<&RunExit>) -> String {
    match exit {
        None => "running".into(),
        Some(RunExit::Status(0)) => "0".into(),
        Some(RunExit::Status(status)) => format!("exit status {status}"),
        Some(RunExit::Signal(signal)) => format!("signal {signal}"),
        Some(RunExit::Lost) => "lost: the tutor ended first".into(),
    }
}

pub const RATIO_NOTE: &str = "Speed-up: the median step of the first v1 run with the same model on the same \
     device over this run's, with its 95 % interval from the steps of both runs; it does not include \
     differences from one start of the program to the next.";

/// Runs whose counted work is shown. The JSON document has all of them.
const MOST_ROOFLINES: usize = 3;

pub fn device(device: &Device) -> String {
    let mut text = device.name.clone();
    if let Some(arch) = &device.arch {
        text.push_str(&format!(" ({arch})"));
    }
    let driver = device.driver.as_deref().unwrap_or(NOT_REPORTED);
    text.push_str(&format!(
        ", backend {}, driver or runtime {driver}",
        device.backend
    ));
    if let Some(memory) = device.memory {
        text.push_str(&format!(", {}", human_bytes(memory)));
    }
    text.push_str(&format!("; {}", plural(device.runs, "run")));
    if device.recording {
        text.push_str(", recordings only");
    }
    text
}

pub fn figure(run: &RunReport, metric: Metric) -> String {
    run.figures
        .get(metric.name())
        .map_or_else(|| NOT_REPORTED.into(), |value| metric.unit().show(*value))
}

/// The most memory that a run's tensors took, or else the most that its whole process took, as a CPU reports it.
fn peak_memory(run: Option<&RunReport>) -> String {
    let known = |metric: Metric| Some(metric.unit().show(*run?.figures.get(metric.name())?));
    let process = || {
        Some(format!(
            "{} in the process",
            known(Metric::ProcessPeakBytes)?
        ))
    };
    or_not_reported(known(Metric::PeakBytesInUse).or_else(process))
}

/// Formats `2.31x (2.20x to 2.43x)`, or a dash for the baseline itself.
pub fn ratio(ratio: Option<&Ratio>) -> String {
    match ratio {
        None => "-".into(),
        Some(ratio) => {
            let interval = ratio
                .interval
                .map_or("interval unknown".into(), |interval| {
                    format!("{} to {}", times(interval.low), times(interval.high))
                });
            format!("{} ({interval})", times(ratio.speedup))
        }
    }
}

/// Formats `10 done, 3 skipped`.
pub fn steps_done(report: &Report) -> String {
    let skipped = report.lessons.iter().map(|lesson| lesson.skipped).sum();
    done_and_skipped(report.totals.steps_finished, skipped)
}

pub fn lessons(report: &Report) -> ReportTable<&LessonReport> {
    let planned = |lesson: &&LessonReport| match lesson.planned_minutes {
        Some(planned) => format!("{planned} min"),
        None => "-".into(),
    };
    ReportTable::new(&report.lessons)
        .text("Lesson", |lesson| match lesson.opened_early {
            true => format!("{} (opened before what it requires)", lesson.title),
            false => lesson.title.clone(),
        })
        .text("Session", |lesson| match &lesson.session {
            Some(session) => session.clone(),
            None => "no longer in the course".into(),
        })
        .number("Steps", |lesson| {
            let done = lesson.finished.saturating_sub(lesson.skipped);
            format!("{done} of {}", lesson.of)
        })
        .number("Skipped", |lesson| lesson.skipped)
        .number("Time", |lesson| minutes(lesson.minutes))
        .number("Planned", planned)
        .number("Attempts", |lesson| lesson.attempts)
        .number("Hints", |lesson| lesson.hints)
}

pub fn runs(runs: &[RunReport]) -> ReportTable<&RunReport> {
    let range = |time: StepTime| {
        let [low, high] = [time.p10, time.p90].map(milliseconds);
        format!("{low} to {high}")
    };
    ReportTable::new(runs)
        .id("Run", |run| run.id.clone())
        .text("Target", |run| program(run))
        .text("Exit", |run| run.exit.clone())
        .number("Step, median", |run| {
            milliseconds_or_not(run.step_time.map(|time| time.median))
        })
        .number("p10 to p90", |run| {
            or_not_reported(run.step_time.map(range))
        })
        .number("Launches", |run| figure(run, Metric::LaunchesPerStep))
        .number("Peak memory", |run| peak_memory(Some(run)))
        .number("Speed-up", |run| ratio(run.ratio.as_ref()))
}

/// The target, with the fix of the run.
pub fn program(run: &RunReport) -> String {
    match &run.fix {
        Some(fix) => format!("{} with --fix {fix}", run.target),
        None => run.target.clone(),
    }
}

pub fn predictions(report: &Report) -> ReportTable<&Prediction> {
    ReportTable::new(&report.predictions)
        .text("Question", |guess| guess.title.clone())
        .number("Predicted", |guess| guess.predicted_text.clone())
        .number("Measured", |guess| match &guess.measured_text {
            Some(measured) => match &guess.recording {
                Some(recording) => format!("{measured} ({recording}, another machine)"),
                None => measured.clone(),
            },
            None => "not measured yet".into(),
        })
        .number("Predicted / measured", |guess| {
            guess.ratio.map_or("-".into(), times)
        })
}

pub fn cases(report: &Report) -> ReportTable<(&str, &CaseReport)> {
    let list = |items: &[String]| match items.is_empty() {
        true => "-".to_string(),
        false => items.join(", then "),
    };
    let cases = report
        .steps()
        .filter_map(|(_, step)| Some((&*step.title, step.case.as_ref()?)));
    ReportTable::new(cases)
        .text("Case", |(title, _)| title.to_string())
        .text("Suspected", |(_, case)| list(&case.suspicions))
        .text("Measurements", |(_, case)| case.measurements)
        .text("Fixes run", |(_, case)| list(&case.fixes))
        .text(
            "Verdict",
            |(_, case)| if case.solved { "solved" } else { "open" },
        )
}

pub fn kernels(report: &Report) -> ReportTable<&KernelReport> {
    ReportTable::new(&report.kernels)
        .code("Kernel", |attempt| attempt.exercise.clone())
        .text("Time", |attempt| moment(&attempt.time))
        .text("Outcome", |attempt| attempt.outcome())
        .text("Device", |attempt| {
            attempt.device.clone().unwrap_or_default()
        })
}

pub fn stages(report: &Report) -> ReportTable<&StageRow> {
    let phase = |row: &StageRow, value| match row.synchronized {
        Some(false) => format!("{}, unsynchronised", milliseconds_or_not(value)),
        _ => milliseconds_or_not(value),
    };
    let loss = |value| number_or_not(value, 3);
    let losses =
        |row: &&StageRow| format!("{}, then {}", loss(row.first_loss), loss(row.final_loss));
    let of = |(with, of): (f64, f64)| format!("{with} of {of}");
    ReportTable::new(&report.stages)
        .text("Stage", |row| row.stage.clone())
        .number("Step, median", |row| milliseconds_or_not(row.step_ms))
        .number("Forward", |row| phase(row, row.forward_ms))
        .number("Backward", |row| phase(row, row.backward_ms))
        .number("Peak memory", |row| {
            peak_memory(report.runs.iter().find(|run| run.id == row.run))
        })
        .number("Loss", losses)
        .number("With gradient", |row| {
            or_not_reported(row.with_gradient.zip(row.tensors).map(of))
        })
        .number("To the stage before", |row| {
            row.to_stage_before.map_or("-".into(), times)
        })
}

/// A row for each kind of part. Its limit comes from the ceilings. Parts that only move data have one, too.
pub fn work(work: &Work) -> ReportTable<PartSum> {
    let roofline = work.roofline();
    let share = |part: &PartSum| {
        let mut points = roofline.points.iter();
        points.find(|point| point.name == part.part)?.share
    };
    let rate = |part: &PartSum| {
        let ms = part.device_ms.filter(|ms| *ms > 0.0)?;
        let unit = Metric::AchievedFlopsPerS.unit();
        Some(unit.show(part.flops / (ms / 1e3)))
    };
    ReportTable::new(work.by_kind())
        .text("Part", |part| part.part.clone())
        .number("FLOP", |part| Metric::FlopsPerStep.unit().show(part.flops))
        .number("Bytes", |part| Metric::BytesPerStep.unit().show(part.bytes))
        .number("FLOP/byte", |part| match part.bytes > 0.0 {
            true => format!("{:.2}", part.flops / part.bytes),
            false => "-".into(),
        })
        .number("Device time", |part| milliseconds_or_not(part.device_ms))
        .number("FLOP/s", |part| or_not_reported(rate(part)))
        .number("Of its limit", |part| {
            share(part).map_or("-".into(), |share| percent(Share(share)))
        })
}

/// Lists the ceilings in a sentence.
pub fn ceilings(work: &Work) -> String {
    let lines = itertools::join(work.roofline().ceilings.iter(), ", ");
    if lines.is_empty() {
        return "No ceilings are known: `calibrate` measures them.".into();
    }
    format!("Ceilings: {lines}.")
}

pub const ENERGY_NOTE: &str = "Energy of the whole device while steps were measured, with all programs that \
     ran on it: its power, sampled once a second during the run, with the 95 % interval of the mean. It does \
     not include errors of the sensor.";

/// A row for each run with measured energy.
pub fn energy(runs: &[RunReport]) -> ReportTable<(&RunReport, [String; 2])> {
    let joules = |run: &RunReport, [value, error]: [usize; 2]| {
        let figure = |place: usize| run.figures.get(ENERGY[place]).copied();
        let (joules, uncertainty) = figure(value).zip(figure(error))?;
        Some(
            Joules {
                joules,
                uncertainty,
            }
            .to_string(),
        )
    };
    let of = |run| Some((run, [joules(run, [0, 1])?, joules(run, [2, 3])?]));
    ReportTable::new(runs.iter().filter_map(of))
        .id("Run", |(run, _)| run.id.clone())
        .text("Target", |(run, _)| program(run))
        .number("A step", |(_, [step, _])| step.clone())
        .number("A training sample", |(_, [_, sample])| sample.clone())
}

pub fn hotspots(profile: &ProfileReport) -> ReportTable<&HotspotRow> {
    ReportTable::new(&profile.hotspots)
        .code("Kernel", |row| row.kernel.clone())
        .text("Part of the model", |row| {
            row.part.clone().unwrap_or_else(|| "-".into())
        })
        .number("Calls", |row| row.calls)
        .number("Time", |row| time(row.total_ns))
        .number("Share", |row| percent(Percentage(row.percent)))
}

/// The runs whose counted work is shown, newest first.
pub fn counted(report: &Report) -> impl Iterator<Item = (&RunReport, &Work)> {
    let counted = report.runs.iter().rev();
    let counted = counted.filter_map(|run| Some((run, run.work.as_ref()?)));
    counted.take(MOST_ROOFLINES)
}

/// Notes about a run in addition to its figures.
pub fn remarks(run: &RunReport) -> impl Iterator<Item = String> {
    let recording = run.recording.iter();
    let recording = recording.map(|machine| format!("Recording of {machine}."));
    recording
        .chain(run.error.clone())
        .chain(run.warnings.clone())
}
