//! Estimates the time of a step for somebody who does it for the first time.

use crate::lesson::{Lesson, Quiz, Step, StepKind};

/// Words a minute of technical text, read once and understood.
const WORDS_PER_MINUTE: f64 = 180.0;

/// Minutes of thinking before an answer, and after a wrong one.
const THOUGHT: f64 = 0.7;

/// Minutes for starting something small and reading its results.
const RUN: f64 = 1.3;

impl Step {
    /// Minutes for reading everything, explanations included, and for doing the task. A run counts with its time on a
    /// laptop's CPU.
    pub fn estimated_minutes(&self) -> f64 {
        let word_count = |text: &str| text.split_whitespace().count() as f64;
        let (doing, reading) = match &self.kind {
            StepKind::Read => (0.0, 0.0),
            StepKind::Predict { .. } | StepKind::Compare { .. } => (0.5, 0.0),
            // A learner reads all choices and the explanation of the right one. Every second learner also
            // reads that of a wrong one.
            StepKind::Quiz(Quiz::Choices(choices)) => {
                let update = choices.iter().map(|choice| {
                    let reason = word_count(&choice.because);
                    let share = if choice.correct { 1.0 } else { 0.25 };
                    word_count(&choice.text) + share * reason
                });
                (THOUGHT, update.sum())
            }
            StepKind::Quiz(Quiz::NumberQuestion(number)) => {
                let hints = self.hints.iter().map(|hint| word_count(&hint.text));
                (
                    2.0 * THOUGHT,
                    word_count(&number.because) + hints.sum::<f64>() / 2.0,
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
            // Two measurements and a fix; each of them is a run.
            StepKind::Investigate(case) => {
                let suspects = case.suspects.iter();
                let suspects =
                    suspects.map(|it| word_count(&it.text) + word_count(&it.because) / 2.0);
                let shows = case
                    .measurements
                    .iter()
                    .map(|it| word_count(&it.text) + word_count(&it.shows));
                (
                    2.0 * RUN + 2.0 * THOUGHT,
                    suspects.sum::<f64>() + shows.sum::<f64>(),
                )
            }
            StepKind::Reflect => (1.5, 0.0),
            StepKind::Profile { .. } => (4.0, 0.0),
            StepKind::Kernel { .. } => (10.0, 0.0),
        };
        let checks = self.checks.iter().map(|check| word_count(&check.passed));
        doing + (word_count(&self.text) + reading + checks.sum::<f64>()) / WORDS_PER_MINUTE
    }
}

impl Lesson {
    /// Minutes of the steps that every learner does.
    pub fn estimated_minutes(&self) -> f64 {
        self.minutes_of(false)
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
