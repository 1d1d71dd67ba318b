//! What verifying a course found.

use serde::Serialize;

use crate::lesson::Problem;
use crate::session::Checked;

/// Of every lesson that was looked at.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub lessons: Vec<LessonReport>,
}

#[derive(Clone, Debug)]
pub struct LessonReport {
    pub id: String,
    pub steps: Vec<StepReport>,
    /// Of the lesson as a whole.
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug)]
pub struct StepReport {
    pub id: String,
    pub kind: &'static str,
    pub result: StepResult,
    /// What a learner could not do or would be told wrongly; empty when all is well.
    pub problems: Vec<Problem>,
    /// How its checks came out after the golden path.
    pub checks: Vec<Checked>,
    /// What could not be judged here, and why.
    pub notes: Vec<String>,
    /// Of its runs.
    pub seconds: f64,
}

/// Whether a step's golden path was walked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "why")]
pub enum StepResult {
    Done,
    /// Walked, but not all of its checks could be judged this way.
    InPart(String),
    /// It could not be walked here.
    Skipped(String),
    Failed,
}

impl Report {
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.lessons.iter().flat_map(|lesson| {
            let steps = lesson.steps.iter().flat_map(|step| &step.problems);
            lesson.problems.iter().chain(steps)
        })
    }

    pub fn steps(&self) -> impl Iterator<Item = (&str, &StepReport)> {
        self.lessons
            .iter()
            .flat_map(|lesson| lesson.steps.iter().map(|step| (lesson.id.as_str(), step)))
    }

    pub fn is_sound(&self) -> bool {
        self.problems().next().is_none()
    }
}
