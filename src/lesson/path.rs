//! Learning paths: parts of the course, for learners who have less time or know some of it already.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Course;

/// The name of the whole course in a list of paths.
pub const WHOLE: &str = "whole";

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

    /// The planned minutes of its lessons plus the estimated minutes of its single steps.
    pub fn minutes_taken(&self, course: &Course) -> f64 {
        let whole = course.lessons().filter(|it| self.has_whole_lesson(&it.id));
        let whole: u32 = whole.map(|lesson| lesson.minutes).sum();
        let single = course.steps().filter(|(lesson, step)| {
            !self.has_whole_lesson(&lesson.id) && self.names_step(&lesson.id, &step.id)
        });
        f64::from(whole)
            + single
                .map(|(_, step)| step.estimated_minutes())
                .sum::<f64>()
    }
}

impl Course {
    /// The path with this name, or `None` for the whole course.
    ///
    /// # Errors
    /// Fails if there is no path with this name. The message lists the names.
    pub fn path(&self, name: &str) -> Result<Option<&LearningPath>, String> {
        let found = self.paths.iter().find(|path| path.id == name);
        if found.is_some() || name == WHOLE {
            return Ok(found);
        }
        let names = itertools::join(self.paths.iter().map(|path| &path.id), ", ");
        Err(format!(
            "there is no path `{name}`; there are: {WHOLE}, {names}"
        ))
    }

    /// Lists the whole course and every path: its name, and a text with its title and minutes.
    pub fn paths_in_text(&self) -> Vec<(&str, String)> {
        let minutes: u32 = self.lessons().map(|lesson| lesson.minutes).sum();
        let optional = self.lessons().map(|lesson| lesson.optional_minutes());
        let optional = optional.sum::<f64>().max(0.0);
        let whole =
            format!("the whole course, {minutes} minutes, and {optional:.0} that may be left out");
        let paths = self.paths.iter().map(|path| {
            let text = format!("{}, {} minutes", path.title, path.minutes);
            (path.id.as_str(), text)
        });
        [(WHOLE, whole)].into_iter().chain(paths).collect()
    }
}
