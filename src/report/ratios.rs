//! Compares runs: each with the baseline made under the same circumstances, each stage with the one before.

use std::collections::HashMap;

use super::document::RatioInterval;
use crate::{Ratio, RunReport, StageRow};
use tinyllama_base::{Series, ratio_of_medians};
use tinyllama_contract::targets::Target;

/// Confidence of the intervals in a report.
const CONFIDENCE: f64 = 0.95;

const BASELINE: &str = "v1";

/// Sets each complete run's ratio to its baseline. That is the first complete `v1` of the same model, device and origin,
/// or else the first complete run of them.
pub fn compare_with_baselines(runs: &mut [RunReport]) {
    let mut baselines: HashMap<String, usize> = HashMap::new();
    for (index, run) in runs.iter().enumerate() {
        let Some(circumstances) = circumstances(run) else {
            continue;
        };
        let known = baselines.get(&circumstances).map(|at| &runs[*at]);
        let better = known.is_none_or(|known| known.target != BASELINE && run.target == BASELINE);
        if better {
            baselines.insert(circumstances, index);
        }
    }
    let ratios: Vec<Option<Ratio>> = runs
        .iter()
        .map(|run| {
            let baseline = &runs[*baselines.get(&circumstances(run)?)?];
            (baseline.id != run.id)
                .then(|| ratio(baseline, run))
                .flatten()
        })
        .collect();
    for (run, ratio) in runs.iter_mut().zip(ratios) {
        run.ratio = ratio;
    }
}

/// Facts that have to agree for a ratio to be meaningful. Returns `None` if a run has no step time.
fn circumstances(run: &RunReport) -> Option<String> {
    let config = run.config.as_ref()?;
    (run.complete && run.step_time.is_some())
        .then(|| format!("{config:?} {:?} {:?}", run.device, run.recording))
}

fn ratio(baseline: &RunReport, run: &RunReport) -> Option<Ratio> {
    let before = Series::new(baseline.samples.total_ms.clone()).ok()?;
    let after = Series::new(run.samples.total_ms.clone()).ok()?;
    let speedup = before.median() / after.median();
    let interval = ratio_of_medians(&[before], &[after], CONFIDENCE).ok();
    Some(Ratio {
        baseline: baseline.id.clone(),
        speedup,
        interval: interval.map(|interval| RatioInterval {
            low: interval.low,
            high: interval.high,
            confidence: interval.confidence,
        }),
    })
}

/// Finds the newest complete run of each stage. If there is a choice, all come from one device and origin. A run with a
/// fix is another program and does not count.
pub fn stages(runs: &[RunReport]) -> Vec<StageRow> {
    let of_stage = |run: &&RunReport| {
        let mut stages = Target::stages();
        run.complete && run.fix.is_none() && stages.any(|stage| stage.name == run.target)
    };
    let Some(newest) = runs.iter().rfind(of_stage) else {
        return Vec::new();
    };
    let mut rows: Vec<StageRow> = Vec::new();
    for stage in Target::stages() {
        let alike = |run: &&RunReport| {
            run.complete
                && run.fix.is_none()
                && run.target == stage.name
                && run.device == newest.device
                && run.config == newest.config
                && run.recording == newest.recording
        };
        let Some(run) = runs.iter().rfind(alike) else {
            continue;
        };
        let mut row = stage_row(run);
        let before = rows.last().and_then(|before| before.step_ms);
        row.to_stage_before = before.zip(row.step_ms).map(|(before, now)| before / now);
        rows.push(row);
    }
    rows
}

fn stage_row(run: &RunReport) -> StageRow {
    let figure = |name: &str| run.figures.get(name).copied();
    StageRow {
        stage: run.target.clone(),
        run: run.id.clone(),
        first_loss: figure("first_loss"),
        final_loss: figure("final_loss"),
        step_ms: run.step_time.map(|time| time.median),
        forward_ms: figure("forward_ms"),
        backward_ms: figure("backward_ms"),
        peak_bytes: figure("peak_bytes_in_use"),
        with_gradient: figure("parameters_with_gradient"),
        tensors: figure("parameter_tensors"),
        to_stage_before: None,
        synchronized: run.synchronized,
    }
}
