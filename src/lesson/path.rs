//! Learning paths: parts of the course, for learners who have less time or know some of it already.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the whole course in a list of paths.
pub const WHOLE: &str = "whole";

/// The name of the path whose steps prove a session: who has done those of a session needs none of its lessons.
pub const PROOF: &str = "proof";

/// A part of the course that can be taken alone
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PathDocument")]
pub struct LearningPath {
    /// Lower-case letters, digits and hyphens; not `whole`
    pub id: String,
    pub title: String,
    /// Planned minutes; the minutes of its lessons and steps have to fit into them
    pub minutes: u32,
    /// LESSON, or LESSON/STEP for that step alone, in the order of the course
    pub lessons: Vec<String>,
}

impl LearningPath {
    /// Returns true if the lesson, or one of its steps, is on the path.
    pub fn has_lesson(&self, id: &str) -> bool {
        let mut entries = self.lessons.iter();
        entries.any(|entry| entry.split('/').next() == Some(id))
    }

    pub fn has_whole_lesson(&self, id: &str) -> bool {
        self.lessons.iter().any(|entry| entry == id)
    }

    /// Returns true if the path names this single step.
    pub fn names_step(&self, lesson: &str, step: &str) -> bool {
        let mut entries = self.lessons.iter();
        entries.any(|entry| entry.split_once('/') == Some((lesson, step)))
    }

    pub fn has_step(&self, lesson: &str, step: &str) -> bool {
        self.has_whole_lesson(lesson) || self.names_step(lesson, step)
    }
}
