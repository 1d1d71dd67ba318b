//! Orders of an instructor to a learner's session.
//!
//! An order is one file in the session's `inbox`. The learner's own tutor takes it, so that `events.jsonl` has a
//! single writer. If no tutor is open and the instructor may write the session, the order is taken at once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Scope, SessionEvent, SessionState, StepRef};
use tinyllama_lesson::Course;

/// Version of the files in the inbox.
pub const FORMAT: u32 = 2;

/// A larger file is no order.
pub(super) const MOST_BYTES: u64 = 16 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstructorOrder {
    pub format: u32,
    /// Unique id of the session that it is for. No other session takes it.
    pub session: String,
    /// Name of the instructor.
    pub by: String,
    pub action: OrderAction,
}

impl InstructorOrder {
    /// An order that names no session yet.
    pub fn new(by: &str, action: OrderAction) -> Self {
        Self {
            format: FORMAT,
            session: String::new(),
            by: by.into(),
            action,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderAction {
    /// Resets the scope and the workbench files that belong to it.
    Reset {
        scope: Scope,
        workbench: Vec<String>,
    },
    Restore {
        backup: String,
    },
    Unlock {
        lesson: String,
        /// Further lessons, so that the learner gets one message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<String>,
    },
    Message {
        text: String,
    },
    /// Does a step with the results of its golden path.
    Solve {
        at: StepRef,
        events: Vec<SessionEvent>,
        run: Option<SolvedRun>,
    },
    /// Keeps what the learner did with a kernel in another terminal. Only the learner can order it.
    Record {
        event: SessionEvent,
    },
}

/// A run that the instructor made for the learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolvedRun {
    /// Name of its folder.
    pub id: String,
    /// Its event stream.
    pub stream: String,
}

/// A change of the session from outside, reported to its learner.
#[derive(Clone, Debug, PartialEq)]
pub enum OutsideChange {
    /// The event in the learner's log.
    Done(SessionEvent),
    /// An invalid file in the inbox; it was set aside.
    Refused { why: String },
}

impl OutsideChange {
    /// Returns whether the shown state of this step may be out of date.
    pub fn touches(&self, at: &StepRef) -> bool {
        match self {
            OutsideChange::Done(SessionEvent::Reset { scope, .. }) => {
                scope.covers(&at.lesson, &at.step)
            }
            OutsideChange::Done(SessionEvent::Solved { at: solved, .. }) => solved == at,
            // Only the session knows the steps of a backup.
            OutsideChange::Done(SessionEvent::Restored { .. }) => true,
            _ => false,
        }
    }
}

/// Everything that instructors wrote to a learner or changed, newest first: time, sender, text.
pub fn received<'a>(state: &'a SessionState, course: &Course) -> Vec<(&'a str, &'a str, String)> {
    let messages = state.messages.iter();
    let messages = messages.map(|it| (&*it.time, &*it.from, it.text.clone()));
    let changes = state.changes.iter().map(|(time, event)| {
        let text = describe(event, &Titles(Some(course)));
        (&**time, sender(event), text)
    });
    let mut all: Vec<_> = messages.chain(changes).collect();
    // All times have the same form, so their text sorts in time order.
    all.sort_by(|a, b| b.0.cmp(a.0));
    all
}

fn sender(event: &SessionEvent) -> &str {
    match event {
        SessionEvent::Reset { by, .. }
        | SessionEvent::Restored { by, .. }
        | SessionEvent::Unlocked { by, .. }
        | SessionEvent::Solved { by, .. }
        | SessionEvent::Pinned { by, .. }
        | SessionEvent::PathChosen { by: Some(by), .. } => by,
        _ => "An instructor",
    }
}

/// Names lessons and steps by their titles in a course, or by their ids without one.
struct Titles<'a>(Option<&'a Course>);

impl Titles<'_> {
    fn lesson(&self, id: &str) -> String {
        let lesson = self.0.and_then(|course| course.lesson(id));
        lesson.map_or(id.into(), |lesson| format!("\"{}\"", lesson.title))
    }

    fn step(&self, at: &StepRef) -> String {
        let step = self.0.and_then(|course| course.step(&at.lesson, &at.step));
        step.map_or(at.to_string(), |step| {
            format!("\"{}\" of {}", step.title, self.lesson(&at.lesson))
        })
    }

    fn scope(&self, scope: &Scope) -> String {
        let lessons = |ids: &[String]| itertools::join(ids.iter().map(|id| self.lesson(id)), ", ");
        match scope {
            Scope::Step(at) => format!("the step {}", self.step(at)),
            Scope::Lessons(ids) if ids.len() == 1 => format!("the lesson {}", lessons(ids)),
            Scope::Lessons(ids) => format!("the lessons {}", lessons(ids)),
            Scope::Steps(steps) => {
                let steps = steps.iter().map(|at| self.step(at));
                format!("the steps {}", itertools::join(steps, ", "))
            }
            Scope::All => "everything".into(),
        }
    }
}

impl OutsideChange {
    /// Describes the change with the titles of the course.
    pub fn text(&self, course: &Course) -> String {
        self.described(&Titles(Some(course)))
    }

    fn described(&self, titles: &Titles) -> String {
        match self {
            OutsideChange::Done(event) => describe(event, titles),
            OutsideChange::Refused { why } => {
                format!("Something in the inbox was set aside: {why}.")
            }
        }
    }
}

impl fmt::Display for OutsideChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described(&Titles(None)))
    }
}

fn describe(event: &SessionEvent, titles: &Titles) -> String {
    match event {
        SessionEvent::Reset { by, scope, backup } => {
            format!(
                "{by} reset {}. A backup is kept as {backup}.",
                titles.scope(scope)
            )
        }
        SessionEvent::Restored { by, backup } => format!("{by} restored what {backup} held."),
        SessionEvent::Unlocked { by, lesson, others } => match others.last() {
            None => format!("{by} opened the lesson {} for you.", titles.lesson(lesson)),
            Some(last) => format!(
                "{by} opened {} lessons for you, from {} to {}.",
                others.len() + 1,
                titles.lesson(lesson),
                titles.lesson(last)
            ),
        },
        SessionEvent::Message { from, text } => format!("Message from {from}: {text}"),
        SessionEvent::Solved { by, at } => {
            format!("{by} did the step {} for you.", titles.step(at))
        }
        SessionEvent::KernelChecked { exercise, .. }
        | SessionEvent::KernelTimed { exercise, .. } => {
            format!("What you did with {exercise} in another terminal is kept.")
        }
        SessionEvent::Pinned {
            by,
            lesson: Some(lesson),
        } => {
            format!(
                "{by} asks everyone to work on the lesson {} now.",
                titles.lesson(lesson)
            )
        }
        SessionEvent::Pinned { by, lesson: None } => {
            format!("{by} lets everyone work on any lesson again.")
        }
        SessionEvent::PathChosen { path, by } => {
            let by = by.as_deref().unwrap_or("An instructor");
            let path = path.as_ref().map_or("the whole course", |path| &path.title);
            format!("{by} asks everyone to take {path}.")
        }
        other => format!("{other:?}"),
    }
}
