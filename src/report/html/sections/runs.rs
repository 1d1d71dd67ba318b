//! What was run: every run, its energy, the debugging stages.

use crate::report::document::{Report, RunReport};
use crate::report::html::Limits;
use crate::report::html::charts::{self, Bar, Range};
use crate::report::html::markup::{Text, section, table};
use crate::report::table::Table;
use crate::report::words::{self, NOT_REPORTED, milliseconds, plural};

pub(super) fn runs(report: &Report, limits: Limits) -> String {
    let from = report.runs.len().saturating_sub(limits.runs);
    let shown = &report.runs[from..];
    if shown.is_empty() {
        return String::new();
    }
    const MOST_CHARTED: usize = 40;
    let ranges: Vec<Range> = shown
        .iter()
        .skip(shown.len().saturating_sub(MOST_CHARTED))
        .filter_map(|run| {
            let time = run.step_time?;
            Some(Range {
                name: match &run.step {
                    Some(step) => format!("{} ({step})", run.target),
                    None => run.target.clone(),
                },
                low: time.p10,
                median: time.median,
                high: time.p90,
                text: milliseconds(Some(time.median)),
            })
        })
        .collect();
    let chart = charts::ranges(
        "chart-steps",
        "Step time of each run",
        "Ticks are medians of the measured steps, bands reach from p10 to p90; on a logarithmic axis",
        &ranges,
    );
    let device = |run: &RunReport| report.devices.get(run.device?);
    let runs = words::runs(shown).text("Device", |run| {
        device(run).map_or_else(|| NOT_REPORTED.into(), |device| device.name.clone())
    });
    let started = Table::of(shown)
        .id("Run", |run| run.id.clone())
        .code("Command", |run| run.command.clone())
        .text("Remarks", |run| {
            words::remarks(run).collect::<Vec<_>>().join(" ")
        });
    let left_out = match from {
        0 => String::new(),
        count => format!(
            "<p>{} earlier ones are in the JSON document.</p>\n",
            plural(count, "run")
        ),
    };
    let content = [
        left_out,
        chart,
        table("Every run, oldest first", &runs),
        format!("<p class=\"soft\">{}</p>\n", Text(words::RATIO_NOTE)),
        table("What was started", &started),
        loss_curve(shown),
    ];
    section("runs", "Runs", &content.concat())
}

/// Of the newest run that has one.
fn loss_curve(runs: &[RunReport]) -> String {
    let Some(run) = runs.iter().rev().find(|run| run.samples.loss.len() > 1) else {
        return String::new();
    };
    let values: Vec<f64> = run
        .samples
        .loss
        .iter()
        .map(|loss| loss.unwrap_or(f64::NAN))
        .collect();
    charts::curve(
        "chart-loss",
        &format!("Loss of the newest run, {} ({})", run.target, run.id),
        "In nats, over all steps, warm-up included",
        &values,
    )
}

pub(super) fn energy(report: &Report) -> String {
    let runs = words::energy(&report.runs);
    if runs.rows.is_empty() {
        return String::new();
    }
    let content = [
        table("Runs whose power was sampled", &runs),
        format!("<p class=\"soft\">{}</p>\n", Text(words::ENERGY_NOTE)),
    ];
    section("energy", "Energy", &content.concat())
}

pub(super) fn stages(report: &Report) -> String {
    let bars: Vec<Bar> = report
        .stages
        .iter()
        .filter_map(|row| {
            let value = row.step_ms?;
            Some(Bar {
                name: row.stage.clone(),
                value,
                plan: None,
                text: milliseconds(Some(value)),
            })
        })
        .collect();
    let chart = charts::bars(
        "chart-stages",
        "Step time of the stages",
        "Median of the measured steps",
        &bars,
    );
    let stages = words::stages(report);
    let content = [
        chart,
        table("The newest complete run of each stage", &stages),
    ];
    section("stages", "Debugging stages", &content.concat())
}
