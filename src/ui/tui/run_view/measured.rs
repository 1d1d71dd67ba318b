//! Figures that are known so far: from the summary once it is there, before that from the latest steps.

use super::state::RunState;
use tinyllama_runs::Metric;

use crate::tui::PARTS_OF_A_STEP;

/// Time outside the parts of a step is mentioned from this share of the step on.
const NOTABLE_SHARE: f64 = 0.05;

/// Median, tenth and ninetieth percentile of a time per step: of the whole run once its summary is there, of the
/// latest steps before.
pub fn middle(state: &RunState, metric: Metric) -> Option<[f64; 3]> {
    let summary = state.summary.as_deref();
    let whole = summary.and_then(|summary| match metric {
        Metric::TotalMs => summary.total_ms,
        Metric::ForwardMs => summary.forward_ms,
        Metric::BackwardMs => summary.backward_ms,
        Metric::OptimizerMs => summary.optimizer_ms,
        _ => None,
    });
    let latest = || {
        let history = state.times.get(&metric)?;
        let [median, p10, p90] = [0.5, 0.1, 0.9].map(|p| history.recent_quantile(p));
        Some([median?, p10?, p90?])
    };
    whole.map(|it| [it.median, it.p10, it.p90]).or_else(latest)
}

/// Median total time, and the medians of the known parts.
pub struct MedianStepTime {
    pub total: f64,
    pub parts: Vec<(&'static str, f64)>,
}

impl MedianStepTime {
    pub fn from_state(state: &RunState) -> Option<Self> {
        let median = |metric| Some(middle(state, metric)?[0]);
        let parts = PARTS_OF_A_STEP.into_iter();
        Some(MedianStepTime {
            total: median(Metric::TotalMs)?,
            parts: parts
                .filter_map(|(metric, name)| Some((name, median(metric)?)))
                .collect(),
        })
    }

    /// Milliseconds of the step that are in none of the parts. `None` if no parts were timed or they add up
    /// to the step.
    pub fn missing(&self) -> Option<f64> {
        let sum: f64 = self.parts.iter().map(|(_, ms)| ms).sum();
        let missing = self.total - sum;
        (!self.parts.is_empty() && missing > NOTABLE_SHARE * self.total).then_some(missing)
    }
}

/// The figure as known so far.
pub fn measured(state: &RunState, metric: Metric) -> Option<f64> {
    let summary = state.summary.as_deref();
    let parts = state.parts.as_ref();
    let reported = || {
        let of_parts = || metric.of_parts(parts?);
        summary
            .and_then(|summary| metric.of_summary(summary))
            .or_else(of_parts)
    };
    let hello = state.hello.as_deref();
    match metric {
        metric if metric.is_per_step() => Some(middle(state, metric)?[0]),
        Metric::SamplesPerS => reported().or_else(|| state.samples_per_s.recent_quantile(0.5)),
        Metric::LaunchesPerStep => reported().or(state.launches.latest),
        Metric::PeakBytesInUse => Some(state.bytes_in_use.range()?.1),
        Metric::PeakBytesReserved => Some(state.bytes_reserved.range()?.1),
        Metric::FirstStepMs => state.first_step_ms,
        Metric::FirstLoss => state.first_loss,
        Metric::Parameters => Some(hello?.parameters as f64),
        Metric::ParameterTensors => Some(hello?.parameter_tensors as f64),
        _ => reported(),
    }
}
