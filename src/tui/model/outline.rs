//! The outline: one row a session, lesson or step.

use crate::lesson::{Course, Level};
use crate::session::State;
use crate::session::event::StepRef;
use crate::session::progress::{Access, LessonProgress, access, progress};
use crate::session::state::Status;

/// Where the cursor is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutlineView {
    pub cursor: usize,
    /// The lesson whose steps are listed.
    pub open: Option<String>,
}

/// A row of the outline.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    Session {
        title: String,
        minutes: u32,
        finished: usize,
        of: usize,
    },
    Lesson {
        id: String,
        title: String,
        level: Level,
        minutes: u32,
        progress: LessonProgress,
        /// Ids of the lessons to do first; empty where it is open.
        missing: Vec<String>,
    },
    Step {
        at: StepRef,
        title: String,
        status: Status,
        is_here: bool,
    },
    /// Announced, not written.
    Planned { title: String, minutes: u32 },
}

impl OutlineView {
    /// Puts the cursor on a lesson and lists its steps.
    pub fn select(&mut self, course: &Course, lesson: &str) {
        self.open = Some(lesson.to_string());
        let mut index = 0;
        for session in &course.sessions {
            index += 1;
            for id in &session.lessons {
                if id == lesson {
                    self.cursor = index;
                    return;
                }
                index += 1;
            }
            index += session.planned.len();
        }
    }

    /// All rows, top to bottom.
    pub fn rows(&self, course: &Course, state: &State) -> Vec<Row> {
        let mut rows = Vec::new();
        for session in &course.sessions {
            let lessons: Vec<_> = session
                .lessons
                .iter()
                .filter_map(|id| course.lesson(id))
                .collect();
            let finished = lessons
                .iter()
                .filter(|lesson| progress(state, lesson).is_finished())
                .count();
            rows.push(Row::Session {
                title: session.title.clone(),
                minutes: session.minutes,
                finished,
                of: lessons.len() + session.planned.len(),
            });
            for lesson in lessons {
                rows.push(Row::Lesson {
                    id: lesson.id.clone(),
                    title: lesson.title.clone(),
                    level: lesson.level,
                    minutes: lesson.minutes,
                    progress: progress(state, lesson),
                    missing: match access(course, state, lesson) {
                        Access::Open => Vec::new(),
                        Access::Locked(missing) => missing,
                    },
                });
                if self.open.as_deref() != Some(lesson.id.as_str()) {
                    continue;
                }
                rows.extend(lesson.steps.iter().map(|step| {
                    let at = StepRef::new(&lesson.id, &step.id);
                    Row::Step {
                        title: step.title.clone(),
                        status: state
                            .step(&lesson.id, &step.id)
                            .map_or(Status::Open, |progress| progress.status.clone()),
                        is_here: state.position.as_ref() == Some(&at),
                        at,
                    }
                }));
            }
            rows.extend(session.planned.iter().map(|planned| Row::Planned {
                title: planned.title.clone(),
                minutes: planned.minutes,
            }));
        }
        rows
    }
}
