//! The outline: one row per session, lesson or step.

use crate::tui::Cursor;
use tinyllama_lesson::document::PlannedDocument;
use tinyllama_lesson::{Course, Lesson, SessionDocument};
use tinyllama_session::progress::progress;
use tinyllama_session::{Access, LessonProgress, SessionState, StepRef, StepStatus, access};

/// The state of the outline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutlineView {
    pub cursor: Cursor,
    /// The lesson whose steps are listed.
    pub open: Option<String>,
}

/// A row of the outline.
#[derive(Clone, Debug)]
pub enum OutlineRow<'a> {
    Session {
        session: &'a SessionDocument,
        finished: usize,
        of: usize,
        /// Planned minutes of its lessons on the learner's path.
        minutes: u32,
    },
    Lesson {
        lesson: &'a Lesson,
        progress: LessonProgress,
        /// Ids of the lessons that the learner has to do first; empty if the lesson is open.
        missing: Vec<String>,
        is_on_path: bool,
    },
    Step {
        at: StepRef,
        title: &'a str,
        status: StepStatus,
        is_here: bool,
    },
    /// Announced, but not written yet.
    Planned(&'a PlannedDocument),
}

impl OutlineView {
    /// Moves the cursor to a lesson and lists its steps.
    pub fn select(&mut self, course: &Course, lesson: &str) {
        self.cursor.filter.clear();
        self.open = Some(lesson.to_string());
        let mut index = 0;
        for session in &course.sessions {
            index += 1;
            for id in &session.lessons {
                if id == lesson {
                    self.cursor.row = index;
                    return;
                }
                index += 1;
            }
            index += session.planned.len();
        }
    }

    /// The rows to show, top to bottom. With a filter they are all lessons and steps whose titles have its text.
    pub fn rows<'a>(&self, course: &'a Course, state: &SessionState) -> Vec<OutlineRow<'a>> {
        let mut rows = Vec::new();
        for session in &course.sessions {
            let lessons = session.lessons.iter().filter_map(|id| course.lesson(id));
            let lessons = lessons.map(|lesson| (lesson, progress(state, lesson)));
            let lessons: Vec<_> = lessons.collect();
            let taken = lessons.iter();
            let taken = taken.filter(|(lesson, _)| state.is_on_path(lesson));
            let finished = taken.clone().filter(|(_, it)| it.is_finished());
            rows.push(OutlineRow::Session {
                session,
                finished: finished.count(),
                of: taken.clone().count() + session.planned.len(),
                minutes: match &state.path {
                    Some(path) => {
                        let minutes = taken.map(|(lesson, _)| lesson.minutes_on(Some(path)));
                        minutes.sum::<f64>().round() as u32
                    }
                    None => session.minutes,
                },
            });
            for (lesson, progress) in lessons {
                rows.push(OutlineRow::Lesson {
                    lesson,
                    progress,
                    is_on_path: state.is_on_path(lesson),
                    missing: match access(course, state, lesson) {
                        Access::Open => Vec::new(),
                        Access::Locked(missing) => missing,
                    },
                });
                if self.open.as_ref() == Some(&lesson.id) || !self.cursor.filter.is_empty() {
                    rows.extend(steps(lesson, state));
                }
            }
            rows.extend(session.planned.iter().map(OutlineRow::Planned));
        }
        if !self.cursor.filter.is_empty() {
            rows.retain(|row| row.title().is_some_and(|title| self.cursor.shows(title)));
        }
        rows
    }
}

impl OutlineRow<'_> {
    /// The lesson to which a row of a lesson or step belongs.
    pub fn lesson(&self) -> Option<&str> {
        match self {
            OutlineRow::Lesson { lesson, .. } => Some(&lesson.id),
            OutlineRow::Step { at, .. } => Some(&at.lesson),
            OutlineRow::Session { .. } | OutlineRow::Planned(_) => None,
        }
    }

    /// Title of a lesson or step. `None` for a session.
    fn title(&self) -> Option<&str> {
        match self {
            OutlineRow::Session { .. } => None,
            OutlineRow::Lesson { lesson, .. } => Some(&lesson.title),
            OutlineRow::Step { title, .. } => Some(title),
            OutlineRow::Planned(planned) => Some(&planned.title),
        }
    }
}

fn steps<'a>(lesson: &'a Lesson, state: &SessionState) -> impl Iterator<Item = OutlineRow<'a>> {
    lesson.steps.iter().map(move |step| {
        let at = StepRef::new(&lesson.id, &step.id);
        let progress = state.step(&at.lesson, &at.step);
        OutlineRow::Step {
            title: &step.title,
            status: progress.map_or(StepStatus::Open, |progress| progress.status.clone()),
            is_here: state.position.as_ref() == Some(&at),
            at,
        }
    })
}
