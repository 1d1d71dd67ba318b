//! The charts of a learner's report.

use super::charts::{self, Bar, Range, figure};
use crate::base::roofline::svg;
use crate::report::document::{Report, RunReport, Work};
use crate::report::words::{self, milliseconds};

pub fn time(report: &Report) -> String {
    let bars = report.lessons.iter().map(|lesson| Bar {
        name: lesson.title.clone(),
        value: lesson.minutes,
        plan: lesson.planned_minutes.map(f64::from),
        text: words::minutes(lesson.minutes),
    });
    charts::bars(
        "chart-time",
        "Time per lesson",
        "Bars are minutes of attention, dashed outlines what was planned",
        &bars.collect::<Vec<_>>(),
    )
}

pub fn steps(runs: &[RunReport]) -> String {
    const MOST_CHARTED: usize = 40;
    let newest = &runs[runs.len().saturating_sub(MOST_CHARTED)..];
    let ranges = newest.iter().filter_map(|run| {
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
    });
    charts::ranges(
        "chart-steps",
        "Step time of each run",
        "Ticks are medians of the measured steps, bands reach from p10 to p90; on a logarithmic axis",
        &ranges.collect::<Vec<_>>(),
    )
}

/// Of the newest run that has one.
pub fn loss(runs: &[RunReport]) -> String {
    let Some(run) = runs.iter().rev().find(|run| run.samples.loss.len() > 1) else {
        return String::new();
    };
    let values = run.samples.loss.iter();
    let values = values.map(|loss| loss.unwrap_or(f64::NAN));
    charts::curve(
        "chart-loss",
        &format!("Loss of the newest run, {} ({})", run.target, run.id),
        "In nats, over all steps, warm-up included",
        &values.collect::<Vec<_>>(),
    )
}

pub fn stages(report: &Report) -> String {
    let bars = report.stages.iter().filter_map(|row| {
        Some(Bar {
            name: row.stage.clone(),
            value: row.step_ms?,
            plan: None,
            text: milliseconds(row.step_ms),
        })
    });
    charts::bars(
        "chart-stages",
        "Step time of the stages",
        "Median of the measured steps",
        &bars.collect::<Vec<_>>(),
    )
}

/// Nothing where no part has a place under the roofline.
pub fn roofline(place: usize, run: &RunReport, work: &Work) -> String {
    let roofline = work.roofline();
    let Some(picture) = roofline.picture() else {
        return String::new();
    };
    let (height, drawing) = svg::drawing(&picture);
    figure(
        &format!("chart-roofline-{place}"),
        &format!("Parts of {} under their roofline", run.target),
        "FLOP per byte counted from shapes, FLOP/s over the measured device time; both logarithmic. Full lines were measured, \
         broken ones are from the data sheet",
        height,
        &drawing,
    )
}
