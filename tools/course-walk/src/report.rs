//! The result of verifying a course.

use serde::Serialize;

use tinyllama_lesson::Problem;
use tinyllama_session::CheckResultText;

/// Reports of all lessons that were verified.
#[derive(Clone, Debug, Default)]
pub struct WalkReport {
    pub lessons: Vec<WalkedLesson>,
}

#[derive(Clone, Debug)]
pub struct WalkedLesson {
    pub id: String,
    pub steps: Vec<WalkedStep>,
    /// Problems of the lesson as a whole.
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug)]
pub struct WalkedStep {
    pub id: String,
    pub kind: &'static str,
    pub result: WalkOutcome,
    /// Tasks that a learner could not do, or texts that would be wrong; empty if there are none.
    pub problems: Vec<Problem>,
    /// Results of its checks after the golden path.
    pub checks: Vec<CheckResultText>,
    /// Points that could not be judged here, with the reasons.
    pub notes: Vec<String>,
    /// Seconds that its runs took.
    pub seconds: f64,
}

/// True if a step's golden path was walked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "why")]
pub enum WalkOutcome {
    Done,
    /// Walked, but some of its checks could not be judged this way.
    InPart(String),
    /// It could not be walked here.
    Skipped(String),
    Failed,
}

impl WalkReport {
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.lessons.iter().flat_map(|lesson| {
            let steps = lesson.steps.iter().flat_map(|step| &step.problems);
            lesson.problems.iter().chain(steps)
        })
    }

    pub fn steps(&self) -> impl Iterator<Item = (&str, &WalkedStep)> {
        self.lessons
            .iter()
            .flat_map(|lesson| lesson.steps.iter().map(|step| (lesson.id.as_str(), step)))
    }

    pub fn is_sound(&self) -> bool {
        self.problems().next().is_none()
    }
}
