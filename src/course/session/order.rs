//! Orders of an instructor to a learner's session.
//!
//! An order is one file in the session's `inbox`. The learner's own tutor takes it, so that `events.jsonl` has a
//! single writer. If no tutor is open and the instructor may write the session, the order is taken at once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::session::{Event, Scope, StepRef};

/// Version of the files in the inbox.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub format: u32,
    /// Name of the instructor.
    pub by: String,
    pub action: Action,
}

impl Order {
    pub fn new(by: &str, action: Action) -> Self {
        Self {
            format: FORMAT,
            by: by.into(),
            action,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
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
        events: Vec<Event>,
        run: Option<SolvedRun>,
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
pub enum Notice {
    /// The event in the learner's log.
    Done(Event),
    /// An invalid file in the inbox; it was set aside.
    Refused { why: String },
}

impl Notice {
    /// Returns whether the shown state of this step may be out of date.
    pub fn touches(&self, at: &StepRef) -> bool {
        match self {
            Notice::Done(Event::Reset { scope, .. }) => scope.covers(&at.lesson, &at.step),
            Notice::Done(Event::Solved { at: solved, .. }) => solved == at,
            // Only the session knows the steps of a backup.
            Notice::Done(Event::Restored { .. }) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = match self {
            Notice::Done(event) => event,
            Notice::Refused { why } => {
                return write!(f, "Something in the inbox was set aside: {why}.");
            }
        };
        match event {
            Event::Reset { by, scope, backup } => {
                write!(
                    f,
                    "{by} reset {}. A backup is kept as {backup}.",
                    describe(scope)
                )
            }
            Event::Restored { by, backup } => write!(f, "{by} restored what {backup} held."),
            Event::Unlocked { by, lesson } => {
                write!(f, "{by} opened the lesson {lesson} for you.")
            }
            Event::Message { from, text } => write!(f, "Message from {from}: {text}"),
            Event::Solved { by, at } => write!(f, "{by} did the step {at} for you."),
            Event::Pinned {
                by,
                lesson: Some(lesson),
            } => write!(f, "{by} asks everyone to work on the lesson {lesson} now."),
            Event::Pinned { by, lesson: None } => {
                write!(f, "{by} lets everyone work on any lesson again.")
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
