//! How long a step takes someone who does it for the first time.

use super::course::{Lesson, Step, StepKind};

/// Words a minute of technical text, code and numbers included: slower than prose.
const WORDS_PER_MINUTE: f64 = 160.0;

impl Step {
    /// Minutes for reading the text and doing what it asks. A run is counted as the time it takes on a laptop's CPU.
    pub fn estimated_minutes(&self) -> f64 {
        let doing = match &self.kind {
            StepKind::Read => 0.0,
            StepKind::Predict { .. } | StepKind::Compare { .. } => 0.5,
            StepKind::Quiz(_) => 0.7,
            StepKind::Run {
                editable: false, ..
            } => 1.0,
            StepKind::Run { editable: true, .. } => 3.0,
            StepKind::Reflect => 1.5,
            StepKind::Profile { .. } => 4.0,
            StepKind::Kernel { .. } => 10.0,
        };
        doing + self.text.split_whitespace().count() as f64 / WORDS_PER_MINUTE
    }
}

impl Lesson {
    pub fn estimated_minutes(&self) -> f64 {
        self.steps.iter().map(Step::estimated_minutes).sum()
    }
}
