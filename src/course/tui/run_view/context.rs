//! What a run view is told beside the run's own events.

use std::time::Duration;

use crate::analysis::{Metric, Unit};
use crate::session::turns::MOST_ROUNDS;
use crate::tui::duration;

/// Which run is shown, and what to hold it against.
#[derive(Clone, Debug, Default)]
pub struct RunContext {
    /// As on the command line.
    pub target: String,
    /// What to call it wherever its figures show, where it was not made here.
    pub recording: Option<String>,
    pub prediction: Option<Prediction>,
    pub round: Option<Round>,
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

/// One of the rounds in which two runs are repeated in turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Among all pairs that were ever made of the two.
    pub number: usize,
    /// Rounds made before this one since the first was begun.
    pub made: usize,
    /// When the first was begun, since the tutor was started.
    pub since: Duration,
    /// Seconds the rounds before this one took.
    pub seconds: f64,
    /// Whether the step waits for what they decide.
    pub required: bool,
}

impl Round {
    /// How far they are, `clock` seconds after this one began.
    pub fn words(&self, clock: f64) -> String {
        let mut words = format!(
            "Round {} of at most {MOST_ROUNDS}: {} so far",
            self.number,
            duration(self.seconds + clock)
        );
        if self.made > 0 {
            let each = self.seconds / self.made as f64;
            let left = (MOST_ROUNDS + 1).saturating_sub(self.number) as f64 * each - clock;
            words += &format!(", at most {} left", duration(left.max(0.0)));
        }
        words
            + match self.required {
                true => ". The step waits for it.",
                false => ". Not required: n goes on, x ends it.",
            }
    }
}
