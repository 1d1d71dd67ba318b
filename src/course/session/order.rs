//! Orders of an instructor to a learner's session.
//!
//! An order is one file in the session's `inbox`. The learner's own tutor takes it, so that `events.jsonl` has a
//! single writer. If no tutor is open and the instructor may write the session, the order is taken at once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::session::{Scope, SessionEvent, StepRef};

/// Version of the files in the inbox.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstructorOrder {
    pub format: u32,
    /// Name of the instructor.
    pub by: String,
    pub action: OrderAction,
}

impl InstructorOrder {
    pub fn new(by: &str, action: OrderAction) -> Self {
        Self {
            format: FORMAT,
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

impl fmt::Display for OutsideChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = match self {
            OutsideChange::Done(event) => event,
            OutsideChange::Refused { why } => {
                return write!(f, "Something in the inbox was set aside: {why}.");
            }
        };
        match event {
            SessionEvent::Reset { by, scope, backup } => {
                write!(
                    f,
                    "{by} reset {}. A backup is kept as {backup}.",
                    describe(scope)
                )
            }
            SessionEvent::Restored { by, backup } => write!(f, "{by} restored what {backup} held."),
            SessionEvent::Unlocked { by, lesson } => {
                write!(f, "{by} opened the lesson {lesson} for you.")
            }
            SessionEvent::Message { from, text } => write!(f, "Message from {from}: {text}"),
            SessionEvent::Solved { by, at } => write!(f, "{by} did the step {at} for you."),
            SessionEvent::KernelChecked { exercise, .. }
            | SessionEvent::KernelTimed { exercise, .. } => {
                write!(
                    f,
                    "What you did with {exercise} in another terminal is kept."
                )
            }
            SessionEvent::Pinned {
                by,
                lesson: Some(lesson),
            } => write!(f, "{by} asks everyone to work on the lesson {lesson} now."),
            SessionEvent::Pinned { by, lesson: None } => {
                write!(f, "{by} lets everyone work on any lesson again.")
            }
            SessionEvent::PathChosen { path, by } => {
                let by = by.as_deref().unwrap_or("An instructor");
                let path = path.as_ref().map_or("the whole course", |path| &path.title);
                write!(f, "{by} asks everyone to take {path}.")
            }
            other => write!(f, "{other:?}"),
        }
    }
}

fn describe(scope: &Scope) -> String {
    match scope {
        Scope::Step(at) => format!("the step {at}"),
        Scope::Lessons(lessons) if lessons.len() == 1 => format!("the lesson {}", lessons.concat()),
        Scope::Lessons(lessons) => format!("the lessons {}", lessons.join(", ")),
        Scope::Steps(steps) => format!("the steps {}", itertools::join(steps, ", ")),
        Scope::All => "everything".into(),
    }
}
