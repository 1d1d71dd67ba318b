//! The facts that a run view needs in addition to the run's events.

use std::time::Duration;

use crate::tui::duration;
use tinyllama_runs::{Metric, MetricUnit};
use tinyllama_session::runs::MOST_ROUNDS;

/// Identifies the run, and names what its figures are compared with.
#[derive(Clone, Debug, Default)]
pub struct RunContext {
    /// Name of the target, as on the command line.
    pub target: String,
    /// Label of the recording, for all places that show its figures; `None` for a run of this machine.
    pub recording: Option<String>,
    pub prediction: Option<LearnerPrediction>,
    pub round: Option<Round>,
}

/// A learner's prediction.
#[derive(Clone, Debug)]
pub struct LearnerPrediction {
    /// The predicted quantity, as text for the learner.
    pub label: String,
    pub value: f64,
    pub unit: MetricUnit,
    /// The metric, if the prediction is one figure of this run. `None` for ratios and similar quantities, which only
    /// a check can measure.
    pub metric: Option<Metric>,
}

/// One of the rounds in which two runs are repeated in turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Number among all pairs of these two runs.
    pub number: usize,
    /// Rounds made before this one since the first of the series.
    pub made: usize,
    /// Start of the first round, as time since the tutor started.
    pub since: Duration,
    /// Seconds that the rounds before this one took.
    pub seconds: f64,
    /// True if the step can only be completed with the result of the rounds.
    pub required: bool,
}

impl Round {
    /// Describes the progress, `clock` seconds after this round began.
    pub fn text(&self, clock: f64) -> String {
        let mut text = format!(
            "Round {} of at most {MOST_ROUNDS}: {} so far",
            self.number,
            duration(self.seconds + clock)
        );
        if self.made > 0 {
            let each = self.seconds / self.made as f64;
            let left = (MOST_ROUNDS + 1).saturating_sub(self.number) as f64 * each - clock;
            text += &format!(", at most {} left", duration(left.max(0.0)));
        }
        text + match self.required {
            true => ". The step waits for it.",
            false => ". Not required: n goes on, x ends it.",
        }
    }
}
