//! The course: its files, what may stand in them, and what a run has to show to pass a check.
//!
//! A course is a `workshop.yaml`, one folder a session with one YAML file a lesson, and `reference/` pages in Markdown.
//! The built-in one is part of the program. [`Course::load`] reads everything or says what is wrong, all of it, each
//! problem with file, line and column.

pub mod check;
pub mod course;
pub mod document;
pub mod estimate;
mod file;
mod impossible;
mod kinds;
pub mod live;
mod load;
mod locate;
pub mod place;
pub mod problem;
pub mod quantity;
pub mod quiz;
pub mod scaffold;
pub mod schema;
pub mod source;
mod step_reader;
mod validate;

pub use check::{Check, Outcome, Runs, Undecided, Verdict};
pub use course::{Course, Golden, Hint, Lesson, Level, Session, Step, StepKind};
pub use place::Place;
pub use problem::{Problem, Problems, Style};
pub use quantity::{Quantity, RunName};
pub use source::Source;
pub use validate::is_id;
