//! A course as the program uses it: read, checked, with every name resolved.

use std::collections::BTreeMap;

use serde::Serialize;

use super::check::Check;
pub use super::document::Level;
use super::document::PlannedDocument;
use super::quantity::{Quantity, RunName};
use super::quiz::Quiz;
use crate::analysis::Metric;
pub use crate::profiler::commands::Tool;

/// Everything a learner can be taught.
#[derive(Clone, Debug)]
pub struct Course {
    pub title: String,
    pub version: String,
    pub summary: String,
    pub sessions: Vec<Session>,
    pub(super) lessons: BTreeMap<String, Lesson>,
    /// Markdown pages by their path below `reference/`, such as `glossary.md`.
    pub reference: BTreeMap<String, String>,
}

/// One sitting.
#[derive(Clone, Debug, Serialize)]
pub struct Session {
    pub id: String,
    pub title: String,
    pub minutes: u32,
    pub objectives: Vec<String>,
    /// Ids of its lessons, in order.
    pub lessons: Vec<String>,
    /// Announced, not written.
    pub planned: Vec<PlannedDocument>,
}

#[derive(Clone, Debug)]
pub struct Lesson {
    pub id: String,
    pub session: String,
    pub title: String,
    pub minutes: u32,
    pub level: Level,
    pub requires: Vec<String>,
    pub objectives: Vec<String>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub id: String,
    pub title: String,
    /// Markdown with live values.
    pub text: String,
    pub kind: StepKind,
    /// Of a run step: the recorded run of a GPU that shows what this step is about.
    pub recording: Option<String>,
    pub checks: Vec<Check>,
    pub hints: Vec<Hint>,
    pub golden: Golden,
}

/// What a step asks for.
#[derive(Clone, Debug)]
pub enum StepKind {
    Read,
    Predict {
        measure: Quantity,
    },
    Run {
        target: String,
        flags: Vec<String>,
        editable: bool,
    },
    Compare {
        runs: Vec<RunName>,
        metrics: Vec<Metric>,
    },
    Profile {
        tool: Tool,
        target: String,
        flags: Vec<String>,
    },
    Quiz(Quiz),
    Kernel {
        file: String,
    },
    Reflect,
}

/// One stage of help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    pub text: String,
    /// Id of the check that has to fail before the hint is offered.
    pub after: Option<String>,
}

/// What a learner who does everything right enters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Golden {
    pub number: Option<f64>,
    pub flags: Option<Vec<String>>,
    pub text: Option<String>,
    pub file: Option<String>,
    pub import: Option<String>,
}

impl Course {
    pub fn lesson(&self, id: &str) -> Option<&Lesson> {
        self.lessons.get(id)
    }

    /// Lessons in the order they are taught.
    pub fn lessons(&self) -> impl Iterator<Item = &Lesson> {
        self.sessions
            .iter()
            .flat_map(|session| &session.lessons)
            .filter_map(|id| self.lessons.get(id))
    }

    pub fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    pub fn step(&self, lesson: &str, step: &str) -> Option<&Step> {
        self.lesson(lesson)?.step(step)
    }
}

impl Lesson {
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }
}

impl Step {
    /// The hints on offer after the checks in `failed` were not met, with their places among all hints, from 1.
    pub fn hints_after(&self, failed: &[String]) -> Vec<(u32, &Hint)> {
        let on_offer = |hint: &&Hint| {
            hint.after
                .as_ref()
                .is_none_or(|check| failed.contains(check))
        };
        (1..)
            .zip(&self.hints)
            .filter(|(_, hint)| on_offer(hint))
            .collect()
    }
}
