//! What an instructor may ask of a learner's session.
//!
//! An order is one file in the session's `inbox`. The learner's own tutor takes it, so that `events.jsonl` keeps a single
//! writer; where no tutor is open and the session is the instructor's to write, it is taken at once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::session::{Event, Scope, StepRef};

/// Version of the files in the inbox.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub format: u32,
    /// Name the instructor goes by.
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
    /// With the files of the workbench that belong to the scope.
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
    /// What the golden path of a step leaves behind.
    Solve {
        at: StepRef,
        events: Vec<Event>,
        run: Option<SolvedRun>,
    },
}

/// A run that was made for the learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolvedRun {
    /// Name of its folder.
    pub id: String,
    /// Its event stream.
    pub stream: String,
}

/// What was done to a session from outside, for its learner to read.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// What the learner's log says of it.
    Done(Event),
    /// A file in the inbox that could not be obeyed; it was set aside.
    Refused { why: String },
}

impl Notice {
    /// Whether what is shown of this step may be out of date now.
    pub fn touches(&self, at: &StepRef) -> bool {
        match self {
            Notice::Done(Event::Reset { scope, .. }) => scope.covers(&at.lesson, &at.step),
            Notice::Done(Event::Solved { at: solved, .. }) => solved == at,
            // Which steps a backup holds, only the session knows.
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
            } => write!(f, "{by} asks everybody to work on the lesson {lesson} now."),
            Event::Pinned { by, lesson: None } => {
                write!(f, "{by} lets everybody go on where they like.")
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
