//! Values in words, the same in every format.

use super::document::{
    CaseReport, Device, HotspotRow, Prediction, Ratio, RunReport, StageRow, Work,
};
use crate::analysis::Metric;
use crate::analysis::parts::PartSum;
use crate::base::roofline::Ceiling;
use crate::base::units::human_bytes;
use crate::run::energy::Joules;
use crate::run::finished::ENERGY;
use crate::session::event::RunExit;

/// What stands for a figure that a backend cannot report.
pub use crate::base::units::NOT_REPORTED;

pub fn milliseconds(value: Option<f64>) -> String {
    value.map_or(NOT_REPORTED.into(), |value| match value {
        value if value < 10.0 => format!("{value:.3} ms"),
        value if value < 1000.0 => format!("{value:.1} ms"),
        value => format!("{:.2} s", value / 1e3),
    })
}

pub fn minutes(value: f64) -> String {
    // The sum of nothing is -0.
    format!("{:.0} min", value.abs())
}

pub fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent != 0.0 && percent.abs() < 1.0 => format!("{percent:.2} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A speed-up with two decimals, such as `2.31x`.
pub fn times(value: f64) -> String {
    format!("{value:.2}x")
}

pub fn plural(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
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

/// A date and time without the letters that RFC 3339 puts between them.
pub fn moment(time: &str) -> String {
    match time.split_once('T') {
        Some((date, rest)) => format!("{date} {} UTC", rest.trim_end_matches('Z')),
        None => time.to_string(),
    }
}

pub const RATIO_NOTE: &str = "Speed-up: the median step of the first v1 run with the same model on the same device over this run's, \
     with its 95 % interval from the steps of both runs; what differs from one start of the program to the next is not in it.";

/// Runs whose counted work is shown; the JSON document has all.
pub const MOST_ROOFLINES: usize = 3;

pub fn device(device: &Device) -> String {
    let mut text = format!("Device: {}", device.name);
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

/// `2.31x (2.20x to 2.43x)`; a dash for the baseline itself.
pub fn ratio(ratio: Option<&Ratio>) -> String {
    match ratio {
        None => "-".into(),
        Some(Ratio {
            speedup,
            interval: None,
            ..
        }) => format!("{} (interval unknown)", times(*speedup)),
        Some(Ratio {
            speedup,
            interval: Some(interval),
            ..
        }) => {
            format!(
                "{} ({} to {})",
                times(*speedup),
                times(interval.low),
                times(interval.high)
            )
        }
    }
}

pub const RUN_HEAD: [&str; 8] = [
    "Run",
    "Target",
    "Exit",
    "Step, median",
    "p10 to p90",
    "Launches",
    "Peak memory",
    "Speed-up",
];

pub fn run_row(run: &RunReport) -> Vec<String> {
    vec![
        run.id.clone(),
        run.target.clone(),
        run.exit.clone(),
        milliseconds(run.step_time.map(|time| time.median)),
        run.step_time.map_or_else(
            || NOT_REPORTED.into(),
            |time| {
                format!(
                    "{} to {}",
                    milliseconds(Some(time.p10)),
                    milliseconds(Some(time.p90))
                )
            },
        ),
        figure(run, Metric::LaunchesPerStep),
        figure(run, Metric::PeakBytesInUse),
        ratio(run.ratio.as_ref()),
    ]
}

pub const PREDICTION_HEAD: [&str; 5] = [
    "Question",
    "Quantity",
    "Predicted",
    "Measured",
    "Predicted / measured",
];

pub fn prediction_row(guess: &Prediction) -> Vec<String> {
    vec![
        guess.title.clone(),
        guess.quantity.clone(),
        guess.predicted_text.clone(),
        guess
            .measured_text
            .clone()
            .unwrap_or_else(|| "not measured yet".into()),
        guess.ratio.map_or("-".into(), times),
    ]
}

pub const CASE_HEAD: [&str; 5] = ["Case", "Suspected", "Measurements", "Fixes run", "Verdict"];

pub fn case_row(title: &str, case: &CaseReport) -> Vec<String> {
    let list = |items: &[String]| match items.is_empty() {
        true => "-".to_string(),
        false => items.join(", then "),
    };
    let verdict = if case.solved { "solved" } else { "open" };
    vec![
        title.to_string(),
        list(&case.suspicions),
        case.measurements.to_string(),
        list(&case.fixes),
        verdict.into(),
    ]
}

pub const STAGE_HEAD: [&str; 8] = [
    "Stage",
    "Step, median",
    "Forward",
    "Backward",
    "Peak memory",
    "Loss",
    "With gradient",
    "To the stage before",
];

pub fn stage_row(row: &StageRow) -> Vec<String> {
    let phase = |value| match row.synchronized {
        Some(false) => format!("{}, unsynchronised", milliseconds(value)),
        _ => milliseconds(value),
    };
    let loss =
        |value: Option<f64>| value.map_or(NOT_REPORTED.into(), |value| format!("{value:.3}"));
    let gradients = row.with_gradient.zip(row.tensors);
    vec![
        row.stage.clone(),
        milliseconds(row.step_ms),
        phase(row.forward_ms),
        phase(row.backward_ms),
        row.peak_bytes.map_or_else(
            || NOT_REPORTED.into(),
            |bytes| Metric::PeakBytesInUse.unit().show(bytes),
        ),
        format!("{}, then {}", loss(row.first_loss), loss(row.final_loss)),
        gradients.map_or_else(
            || NOT_REPORTED.into(),
            |(with, of)| format!("{with} of {of}"),
        ),
        row.to_stage_before.map_or("-".into(), times),
    ]
}

pub const WORK_HEAD: [&str; 7] = [
    "Part",
    "FLOP",
    "Bytes",
    "FLOP/byte",
    "Device time",
    "FLOP/s",
    "Of its limit",
];

/// A row for each kind of part. Its limit is what the ceilings allow; a part that only moves data has one, too.
pub fn work_rows(work: &Work) -> Vec<Vec<String>> {
    let roofline = work.roofline();
    let share = |part: &PartSum| {
        roofline
            .points
            .iter()
            .find(|point| point.name == part.part)?
            .share
    };
    work.by_kind()
        .iter()
        .map(|part| work_row(part, share(part)))
        .collect()
}

/// `limit` is the share of what the ceilings allow.
fn work_row(part: &PartSum, limit: Option<f64>) -> Vec<String> {
    let ms = part.device_ms.filter(|ms| *ms > 0.0);
    let rate = ms.map(|ms| part.flops / (ms / 1e3));
    vec![
        part.part.clone(),
        Metric::FlopsPerStep.unit().show(part.flops),
        Metric::BytesPerStep.unit().show(part.bytes),
        if part.bytes > 0.0 {
            format!("{:.2}", part.flops / part.bytes)
        } else {
            "-".into()
        },
        milliseconds(part.device_ms),
        rate.map_or(NOT_REPORTED.into(), |rate| {
            Metric::AchievedFlopsPerS.unit().show(rate)
        }),
        limit.map_or("-".into(), percent),
    ]
}

/// The ceilings in a sentence.
pub fn ceilings(work: &Work) -> String {
    let lines: Vec<String> = work
        .roofline()
        .ceilings
        .iter()
        .map(Ceiling::to_string)
        .collect();
    if lines.is_empty() {
        return "No ceilings are known: `calibrate` measures them.".into();
    }
    format!("Ceilings: {}.", lines.join(", "))
}

pub const ENERGY_HEAD: [&str; 4] = ["Run", "Target", "A step", "A training sample"];

pub const ENERGY_NOTE: &str = "Energy of the whole device while steps were measured, whatever else ran on it: its power, sampled once a second \
     beside the run, with the 95 % interval of the mean. Errors of the sensor are not in it.";

/// None for a run whose energy was not measured.
pub fn energy_row(run: &RunReport) -> Option<Vec<String>> {
    let figure = |place: usize| run.figures.get(ENERGY[place]).copied();
    let joules = |value, error| {
        let (joules, uncertainty) = figure(value).zip(figure(error))?;
        let joules = Joules {
            joules,
            uncertainty,
        };
        Some(joules.to_string())
    };
    Some(vec![
        run.id.clone(),
        run.target.clone(),
        joules(0, 1)?,
        joules(2, 3)?,
    ])
}

pub const HOTSPOT_HEAD: [&str; 5] = ["Kernel", "Part of the model", "Calls", "Time", "Share"];

pub fn hotspot_row(row: &HotspotRow) -> Vec<String> {
    vec![
        row.kernel.clone(),
        row.part.clone().unwrap_or_else(|| "-".into()),
        row.calls.to_string(),
        milliseconds(Some(row.total_ns / 1e6)),
        format!("{:.1} %", row.percent),
    ]
}
