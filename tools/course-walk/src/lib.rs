//! What authors and CI do with a course: start a lesson ([`scaffold`]), find weak wording ([`lint()`]), and walk it.
//!
//! [`verify`] walks a course's golden path with real runs, as a learner who does everything right.
//!
//! Reading a course ([`Course::load`]) finds the problems that the files show. This finds the others: checks that a
//! good run misses or that a fault passes, questions that refuse their answer, hints that cannot be reached, runs
//! that fail.

mod blind;
mod claims;
mod commands;
mod faults;
mod flags;
mod lint;
mod report;
pub mod scaffold;
mod tasks;
mod text;
mod training;
mod visit;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsString;

use anyhow::{Context, Result};

use tinyllama_base::ScratchFolder;
use tinyllama_lesson::{Course, CourseSource, FIXED, LearningPath, Lesson, Step, StepRef};
use tinyllama_runs::Launcher;
use tinyllama_session::{Session, SessionLocation};
use walk::LessonWalker;

pub use blind::{BlindStrategy, MOST_BLIND, blind_strategies};
pub use lint::lint;
pub use report::{WalkOutcome, WalkReport, WalkedStep};
pub use text::print_progress;

/// Options of a verification.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Starts the runs.
    pub launcher: Launcher,
    /// Shrinks the model until a run takes under a second. Checks that depend on its size are then left out.
    pub fast: bool,
    /// Flags for every run. They replace the lesson's own if both have them.
    pub flags: Vec<String>,
    /// Walks only this path, as its learner would.
    pub path: Option<LearningPath>,
}

/// Progress reports for the user who waits.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    Lesson {
        id: &'a str,
        number: usize,
        of: usize,
    },
    /// A run of a lesson that was not chosen, because a chosen lesson needs it.
    Needed {
        lesson: &'a str,
        step: &'a str,
    },
    Run {
        argv: &'a [OsString],
    },
    Step {
        step: &'a WalkedStep,
    },
}

/// Walks the lessons named in `chosen`, or all lessons of the path if it is empty, in a temporary session.
///
/// # Errors
/// If the temporary session cannot be stored or a run cannot be started. Problems of the course are no errors but
/// part of the report.
pub fn verify(
    course: &Course,
    source: &CourseSource,
    chosen: &[String],
    options: &VerifyOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<WalkReport> {
    let folder = ScratchFolder::new().context("creating a folder for the session")?;
    let location = SessionLocation {
        folder: folder.path().join("session"),
        learner: "verify".into(),
    };
    let mut walk = LessonWalker {
        course,
        source,
        options,
        session: Session::open(location)?,
        walked: BTreeSet::new(),
        progress,
    };
    walk.session.take_path(options.path.as_ref())?;
    let lessons: Vec<&Lesson> = course
        .lessons()
        .filter(|lesson| walk.session.state().is_on_path(lesson))
        .filter(|lesson| chosen.is_empty() || chosen.contains(&lesson.id))
        .collect();
    for (lesson, step) in needed(course, &lessons) {
        walk.needed(lesson, step)?;
    }
    let mut report = WalkReport::default();
    for (index, lesson) in lessons.iter().enumerate() {
        (walk.progress)(Progress::Lesson {
            id: &lesson.id,
            number: index + 1,
            of: lessons.len(),
        });
        report.lessons.push(walk.lesson(lesson)?);
    }
    Ok(report)
}

/// Run steps of other lessons that these lessons name, in the order of the course.
fn needed<'a>(course: &'a Course, lessons: &[&Lesson]) -> Vec<(&'a Lesson, &'a Step)> {
    let own = |id: &str| lessons.iter().any(|lesson| lesson.id == id);
    let named: BTreeSet<StepRef> = lessons
        .iter()
        .flat_map(|lesson| {
            lesson
                .steps
                .iter()
                .flat_map(|step| step.named_runs(&lesson.id))
        })
        .filter(|run| !own(&run.lesson))
        .collect();
    course
        .steps()
        .filter(|(lesson, step)| {
            let is_named = |suffix: &str| {
                named.contains(&StepRef::new(&lesson.id, format!("{}{suffix}", step.id)))
            };
            is_named("") || is_named(FIXED)
        })
        .collect()
}
