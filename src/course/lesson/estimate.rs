//! How long a step takes someone who does it for the first time.

use crate::lesson::{Lesson, Quiz, Step, StepKind};

/// Words a minute of technical text, read once and understood.
const WORDS_PER_MINUTE: f64 = 180.0;

/// For the thought that an answer takes, and for the one after a wrong one.
const THOUGHT: f64 = 0.7;

/// For starting something small and reading what it reports.
const RUN: f64 = 1.3;

impl Step {
    /// Minutes for reading all of it, reasons included, and for doing what it asks. A run is counted as the time it takes on
    /// a laptop's CPU.
    pub fn estimated_minutes(&self) -> f64 {
        let words = |text: &str| text.split_whitespace().count() as f64;
        let (doing, reading) = match &self.kind {
            StepKind::Read => (0.0, 0.0),
            StepKind::Predict { .. } | StepKind::Compare { .. } => (0.5, 0.0),
            // All choices are read, the right one's reason, and every second learner's wrong one.
            StepKind::Quiz(Quiz::Choices(choices)) => {
                let told = choices.iter().map(|choice| {
                    let reason = words(&choice.because);
                    let share = if choice.correct { 1.0 } else { 0.25 };
                    words(&choice.text) + share * reason
                });
                (THOUGHT, told.sum())
            }
            StepKind::Quiz(Quiz::Number(number)) => {
                let hints = self.hints.iter().map(|hint| words(&hint.text));
                (
                    2.0 * THOUGHT,
                    words(&number.because) + hints.sum::<f64>() / 2.0,
                )
            }
            StepKind::Run {
                editable: false,
                contest: false,
                ..
            } => (RUN, 0.0),
            StepKind::Run { contest: true, .. } => (10.0, 0.0),
            StepKind::Run { editable: true, .. } => (3.0, 0.0),
            StepKind::Command {
                editable: false, ..
            } => (RUN, 0.0),
            StepKind::Command { editable: true, .. } => (2.5, 0.0),
            // Two measurements and a fix, of which each is a run.
            StepKind::Investigate(case) => {
                let suspects = case.suspects.iter();
                let suspects = suspects.map(|it| words(&it.text) + words(&it.because) / 2.0);
                let shows = case
                    .measurements
                    .iter()
                    .map(|it| words(&it.text) + words(&it.shows));
                (
                    2.0 * RUN + 2.0 * THOUGHT,
                    suspects.sum::<f64>() + shows.sum::<f64>(),
                )
            }
            StepKind::Reflect => (1.5, 0.0),
            StepKind::Profile { .. } => (4.0, 0.0),
            StepKind::Kernel { .. } => (10.0, 0.0),
        };
        let checks = self.checks.iter().map(|check| words(&check.passed));
        doing + (words(&self.text) + reading + checks.sum::<f64>()) / WORDS_PER_MINUTE
    }
}

impl Lesson {
    /// Of the steps that nobody leaves out.
    pub fn estimated_minutes(&self) -> f64 {
        self.minutes_of(false)
    }

    /// Of the steps that may be left out.
    pub fn optional_minutes(&self) -> f64 {
        self.minutes_of(true)
    }

    fn minutes_of(&self, optional: bool) -> f64 {
        let steps = self.steps.iter().filter(|step| step.optional == optional);
        steps.map(Step::estimated_minutes).sum()
    }
}
