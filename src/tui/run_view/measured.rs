//! Figures of a run as far as they are known while it goes on: of the summary once it is there, of the latest steps before.

use super::state::RunState;
use crate::analysis::Metric;
use crate::train::Spread;
use crate::tui::PARTS_OF_A_STEP;

/// Time that is in none of a step's parts is worth a word from this share of the step on.
const NOTABLE_SHARE: f64 = 0.05;

/// Median, tenth and ninetieth percentile: of the whole run once its summary is there, of the latest steps before.
#[derive(Clone, Copy)]
pub struct Middle {
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
}

/// Of a time of each step.
pub fn middle(state: &RunState, metric: Metric) -> Option<Middle> {
    let summary = state.summary.as_deref();
    let told = summary.and_then(|summary| match metric {
        Metric::TotalMs => summary.total_ms,
        Metric::ForwardMs => summary.forward_ms,
        Metric::BackwardMs => summary.backward_ms,
        Metric::OptimizerMs => summary.optimizer_ms,
        _ => None,
    });
    if let Some(Spread {
        median, p10, p90, ..
    }) = told
    {
        return Some(Middle { median, p10, p90 });
    }
    let history = state.times.get(&metric)?;
    Some(Middle {
        median: history.recent_quantile(0.5)?,
        p10: history.recent_quantile(0.1)?,
        p90: history.recent_quantile(0.9)?,
    })
}

/// Median total time and that of the parts that are known.
pub struct StepTime {
    pub total: f64,
    pub parts: Vec<(&'static str, f64)>,
}

impl StepTime {
    pub fn of(state: &RunState) -> Option<Self> {
        let median = |metric| Some(middle(state, metric)?.median);
        let parts = PARTS_OF_A_STEP.into_iter();
        Some(StepTime {
            total: median(Metric::TotalMs)?,
            parts: parts
                .filter_map(|(metric, name)| Some((name, median(metric)?)))
                .collect(),
        })
    }

    /// Milliseconds of the step that none of the parts has; none where the parts were not timed or make up the step.
    pub fn missing(&self) -> Option<f64> {
        let sum: f64 = self.parts.iter().map(|(_, ms)| ms).sum();
        let missing = self.total - sum;
        (!self.parts.is_empty() && missing > NOTABLE_SHARE * self.total).then_some(missing)
    }
}

/// The figure as far as it is known now.
pub fn measured(state: &RunState, metric: Metric) -> Option<f64> {
    let summary = state.summary.as_deref();
    let parts = state.parts.as_ref();
    let told = || {
        let of_parts = || metric.of_parts(parts?);
        summary
            .and_then(|summary| metric.of_summary(summary))
            .or_else(of_parts)
    };
    let hello = state.hello.as_deref();
    match metric {
        metric if metric.is_per_step() => Some(middle(state, metric)?.median),
        Metric::SamplesPerS => told().or_else(|| state.samples_per_s.recent_quantile(0.5)),
        Metric::LaunchesPerStep => told().or(state.launches.latest),
        Metric::PeakBytesInUse => Some(state.bytes_in_use.range()?.1),
        Metric::PeakBytesReserved => Some(state.bytes_reserved.range()?.1),
        Metric::FirstStepMs => state.first_step_ms,
        Metric::FirstLoss => state.first_loss,
        Metric::Parameters => Some(hello?.parameters as f64),
        Metric::ParameterTensors => Some(hello?.parameter_tensors as f64),
        _ => told(),
    }
}
