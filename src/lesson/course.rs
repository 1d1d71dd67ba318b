//! A course in the form that the program uses: read and checked, with every name resolved.

use std::collections::BTreeMap;

pub use super::document::{Hint, Level, SessionDocument};
use super::kinds::StepKind;
use crate::{Check, LearningPath, RunName};

/// A course: its sessions, lessons and pages.
#[derive(Clone, Debug, Default)]
pub struct Course {
    pub title: String,
    pub version: String,
    pub summary: String,
    pub sessions: Vec<SessionDocument>,
    pub paths: Vec<LearningPath>,
    pub(super) lessons: BTreeMap<String, Lesson>,
    /// Markdown pages by their path below `reference/`, such as `glossary.md`.
    pub reference: BTreeMap<String, String>,
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
    /// What the step trains or profiles.
    pub target: Option<String>,
    /// Flags of what the step starts, without a change by the learner.
    pub flags: Vec<String>,
    /// Id of a recording from a GPU that shows the topic of this step: a run, or the document of a command.
    pub recording: Option<String>,
    /// May be left out when time is short.
    pub optional: bool,
    /// The learner has to change the flags.
    pub editable: bool,
    pub checks: Vec<Check>,
    pub hints: Vec<Hint>,
    pub golden: Golden,
    /// The same question with other figures.
    pub again: Option<Box<Step>>,
}

impl Step {
    /// Returns the step in the form in which an earlier question is asked again.
    pub fn asked_again(&self) -> &Step {
        self.again.as_deref().unwrap_or(self)
    }
}

/// The inputs of a learner who does everything right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Golden {
    pub number: Option<f64>,
    pub flags: Option<Vec<String>>,
    pub text: Option<String>,
    pub import: Option<String>,
}

impl Course {
    pub fn lesson(&self, id: &str) -> Option<&Lesson> {
        self.lessons.get(id)
    }

    /// Lessons in teaching order.
    pub fn lessons(&self) -> impl Iterator<Item = &Lesson> {
        self.sessions
            .iter()
            .flat_map(|session| &session.lessons)
            .filter_map(|id| self.lessons.get(id))
    }

    pub fn session(&self, id: &str) -> Option<&SessionDocument> {
        self.sessions.iter().find(|session| session.id == id)
    }

    pub fn step(&self, lesson: &str, step: &str) -> Option<&Step> {
        self.lesson(lesson)?.step(step)
    }

    /// A step with its lesson.
    pub fn find_run(&self, at: &RunName) -> Option<(&Lesson, &Step)> {
        let lesson = self.lesson(&at.lesson)?;
        Some((lesson, lesson.step(&at.step)?))
    }

    /// Every step with its lesson, in teaching order.
    pub fn steps(&self) -> impl Iterator<Item = (&Lesson, &Step)> {
        self.lessons()
            .flat_map(|lesson| lesson.steps.iter().map(move |step| (lesson, step)))
    }
}

impl Lesson {
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }
}

/// Suffix of an investigation's id, for its runs with a fix.
pub const FIXED: &str = "+fix";

impl Step {
    /// Ids of all checks, and whether each is required.
    pub fn checked(&self) -> impl Iterator<Item = (&str, bool)> {
        let checks = self.checks.iter();
        let checks = checks.map(|check| (check.id.as_str(), check.required));
        let expects = self.expects().iter();
        checks.chain(expects.map(|expect| (expect.id.as_str(), expect.required)))
    }

    /// The hints offered after the checks in `failed` were missed, with their numbers among all hints, from 1.
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
