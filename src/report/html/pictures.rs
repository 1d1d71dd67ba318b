//! Data of the charts in a learner's report.

use serde_json::{Value, json};

use super::charts::{self, Bar, ChartRange};
use crate::{Report, RunReport, Work, milliseconds_or_not, text};
use tinyllama_base::milliseconds;
use tinyllama_base::roofline::svg;

/// Minutes of attention per lesson, and planned minutes.
pub fn time(report: &Report) -> Value {
    let bars = report.lessons.iter().map(|lesson| Bar {
        name: lesson.title.clone(),
        value: lesson.minutes,
        plan: lesson.planned_minutes.map(f64::from),
        text: text::minutes(lesson.minutes),
    });
    charts::bars(&bars.collect::<Vec<_>>())
}

/// Step times of the newest runs.
pub fn steps(runs: &[RunReport]) -> Value {
    const MOST_CHARTED: usize = 40;
    let newest = &runs[runs.len().saturating_sub(MOST_CHARTED)..];
    let ranges = newest.iter().filter_map(|run| {
        let time = run.step_time?;
        Some(ChartRange {
            name: match &run.step {
                Some(step) => format!("{} ({step})", text::program(run)),
                None => text::program(run),
            },
            low: time.p10,
            median: time.median,
            high: time.p90,
            text: milliseconds(time.median),
        })
    });
    charts::ranges(&ranges.collect::<Vec<_>>())
}

/// The loss of the newest run that has one.
pub fn loss(runs: &[RunReport]) -> Value {
    let Some(run) = runs.iter().rev().find(|run| run.samples.loss.len() > 1) else {
        return Value::Null;
    };
    let values = run.samples.loss.iter();
    let values = values.map(|loss| loss.unwrap_or(f64::NAN));
    let curve = charts::curve(&values.collect::<Vec<_>>());
    json!({"target": run.target, "id": run.id, "curve": curve})
}

/// Step times of the debugging stages.
pub fn stages(report: &Report) -> Value {
    let bars = report.stages.iter().filter_map(|row| {
        Some(Bar {
            name: row.stage.clone(),
            value: row.step_ms?,
            plan: None,
            text: milliseconds_or_not(row.step_ms),
        })
    });
    charts::bars(&bars.collect::<Vec<_>>())
}

/// Empty if no part has a point under the roofline.
pub fn roofline(work: &Work) -> Value {
    let roofline = work.roofline();
    let drawn = roofline.picture().map(|picture| svg::drawing(&picture));
    drawn.map_or(
        Value::Null,
        |(height, drawing)| json!({"height": format!("{height:.0}"), "drawing": drawing}),
    )
}
