//! Estimates the time of a step for somebody who does it for the first time.

use crate::{Lesson, Step};

/// Words a minute of technical text, read once and understood.
const WORDS_PER_MINUTE: f64 = 180.0;

/// Minutes of thinking before an answer, and after a wrong one.
pub(super) const THOUGHT_MINUTES: f64 = 0.7;

/// Minutes for starting something small and reading its results.
pub(super) const RUN_MINUTES: f64 = 1.3;

pub(super) fn word_count(text: &str) -> f64 {
    text.split_whitespace().count() as f64
}

impl Step {
    /// Minutes for reading everything, explanations included, and for doing the task. A run counts with its time on a
    /// laptop's CPU.
    pub fn estimated_minutes(&self) -> f64 {
        let (doing, reading) = self.content().minutes(self);
        let checks = self.checks.iter().map(|check| word_count(&check.passed));
        doing + (word_count(&self.text) + reading + checks.sum::<f64>()) / WORDS_PER_MINUTE
    }
}

impl Lesson {
    /// Minutes of the steps that every learner does.
    pub fn estimated_minutes(&self) -> f64 {
        self.minutes_of(false)
    }

    /// Says that its planned minutes are far from the estimated ones.
    pub fn minutes_problem(&self) -> String {
        let (planned, estimated) = (self.minutes, self.estimated_minutes());
        format!(
            "{planned} minutes are planned, but its texts, runs and questions take about {estimated:.0}"
        )
    }

    /// Minutes of the optional steps.
    pub fn optional_minutes(&self) -> f64 {
        self.minutes_of(true)
    }

    fn minutes_of(&self, optional: bool) -> f64 {
        let steps = self.steps.iter().filter(|step| step.optional == optional);
        steps.map(Step::estimated_minutes).sum()
    }
}
