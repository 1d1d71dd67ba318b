//! Figures of a run as far as they are known while it goes on: of the summary once it is there, of the latest steps before.

use super::history::History;
use super::state::RunState;
use crate::analysis::Metric;
use crate::train::event::Spread;

/// Time that is in none of a step's parts is worth a word from this share of the step on.
const NOTABLE_SHARE: f64 = 0.05;

/// Median, tenth and ninetieth percentile: of the whole run once its summary is there, of the latest steps before.
#[derive(Clone, Copy)]
pub struct Middle {
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
}

pub fn middle(summary: Option<Spread>, history: &History) -> Option<Middle> {
    if let Some(spread) = summary {
        return Some(Middle {
            median: spread.median,
            p10: spread.p10,
            p90: spread.p90,
        });
    }
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
        let spread = |of: fn(&crate::train::event::Summary) -> Option<Spread>| {
            state.summary.as_deref().and_then(of)
        };
        let times = &state.times;
        let parts = [
            ("forward", spread(|s| s.forward_ms), &times.forward),
            ("backward", spread(|s| s.backward_ms), &times.backward),
            ("optimizer", spread(|s| s.optimizer_ms), &times.optimizer),
        ];
        Some(StepTime {
            total: middle(spread(|s| s.total_ms), &times.total)?.median,
            parts: parts
                .into_iter()
                .filter_map(|(name, summary, history)| {
                    Some((name, middle(summary, history)?.median))
                })
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
    let median = |history: &History, summary: Option<Spread>| {
        middle(summary, history).map(|middle| middle.median)
    };
    let summary = state.summary.as_deref();
    let times = &state.times;
    match metric {
        Metric::TotalMs => median(&times.total, summary.and_then(|s| s.total_ms)),
        Metric::ForwardMs => median(&times.forward, summary.and_then(|s| s.forward_ms)),
        Metric::BackwardMs => median(&times.backward, summary.and_then(|s| s.backward_ms)),
        Metric::OptimizerMs => median(&times.optimizer, summary.and_then(|s| s.optimizer_ms)),
        Metric::FirstStepMs => state.first_step_ms,
        Metric::SamplesPerS => summary
            .and_then(|s| s.samples_per_s)
            .or_else(|| state.samples_per_s.recent_quantile(0.5)),
        Metric::LaunchesPerStep => summary
            .and_then(|s| s.launches_per_step)
            .or_else(|| state.launches.latest()),
        Metric::TokensPerS => summary?.tokens_per_s,
        Metric::PeakBytesInUse => Some(state.bytes_in_use.range()?.1),
        Metric::PeakBytesReserved => Some(state.bytes_reserved.range()?.1),
        Metric::FirstLoss => state.first_loss,
        Metric::FinalLoss => summary?.final_loss,
        Metric::Parameters => Some(state.hello.as_ref()?.parameters as f64),
        Metric::ParameterTensors => Some(state.hello.as_ref()?.parameter_tensors as f64),
        Metric::ParametersWithGradient => Some(summary?.parameters_with_gradient? as f64),
        Metric::LossDifference => Some(summary?.repeatability.as_ref()?.loss_difference),
        Metric::GradientDifference => Some(summary?.repeatability.as_ref()?.gradient_difference),
        Metric::FlopsPerStep => Some(state.parts.as_ref()?.flops_per_step),
        Metric::BytesPerStep => Some(state.parts.as_ref()?.bytes_per_step),
        Metric::AchievedFlopsPerS => state.parts.as_ref()?.achieved_flops_per_s,
    }
}
