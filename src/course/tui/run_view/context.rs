//! What a run view is told beside the run's own events.

use crate::analysis::{Metric, Unit};

/// Which run is shown, and what to hold it against.
#[derive(Clone, Debug, Default)]
pub struct RunContext {
    /// As on the command line.
    pub target: String,
    /// What to call it wherever its figures show, where it was not made here.
    pub recording: Option<String>,
    pub prediction: Option<Prediction>,
    pub earlier: Vec<EarlierRun>,
}

/// What the learner expects.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// What it is about, in words.
    pub label: String,
    pub value: f64,
    pub unit: Unit,
    /// Where it is one figure of this very run; none for ratios and the like, which only a check can tell.
    pub metric: Option<Metric>,
}

/// A run made before, for comparing.
#[derive(Clone, Debug)]
pub struct EarlierRun {
    pub label: String,
    /// Median of the measured steps.
    pub total_ms: Option<f64>,
    pub samples_per_s: Option<f64>,
}
