//! A course in the form that the program uses: read and checked, with every name resolved.

use std::collections::BTreeMap;

use super::path::WHOLE;
use crate::document::Level;
use crate::{LearningPath, SessionDocument, Step, StepRef};

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
    pub fn find_step(&self, at: &StepRef) -> Option<(&Lesson, &Step)> {
        let lesson = self.lesson(&at.lesson)?;
        Some((lesson, lesson.step(&at.step)?))
    }

    /// Every step with its lesson, in teaching order.
    pub fn steps(&self) -> impl Iterator<Item = (&Lesson, &Step)> {
        self.lessons()
            .flat_map(|lesson| lesson.steps.iter().map(move |step| (lesson, step)))
    }

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

    /// Steps with a kernel to write that the whole course, or a path, asks for.
    pub fn required_kernels(&self, path: Option<&LearningPath>) -> usize {
        let asked = self.steps().filter(|(lesson, step)| match path {
            Some(path) if !path.has_whole_lesson(&lesson.id) => {
                path.names_step(&lesson.id, &step.id)
            }
            _ => !step.optional,
        });
        asked.filter(|(_, step)| step.as_kernel().is_some()).count()
    }

    /// The planned minutes of a path's lessons plus the estimated minutes of its single steps.
    pub fn minutes_of_path(&self, path: &LearningPath) -> f64 {
        self.lessons()
            .map(|lesson| lesson.minutes_on(Some(path)))
            .sum()
    }
}

impl Lesson {
    /// Planned minutes of the lesson on a path: all of them, or the estimated minutes of its single steps.
    pub fn minutes_on(&self, path: Option<&LearningPath>) -> f64 {
        match path {
            Some(path) if !path.has_whole_lesson(&self.id) => {
                let named = |step: &&Step| path.names_step(&self.id, &step.id);
                self.steps
                    .iter()
                    .filter(named)
                    .map(Step::estimated_minutes)
                    .sum()
            }
            _ => f64::from(self.minutes),
        }
    }

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

    /// Steps with a kernel to write that every learner does.
    pub fn required_kernels(&self) -> usize {
        let kernels = self.steps.iter().filter(|step| !step.optional);
        kernels.filter(|step| step.as_kernel().is_some()).count()
    }

    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }
}
