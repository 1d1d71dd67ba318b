//! What the full screen and the lines share: how a learner does each kind of step, how a run becomes part of a session, and
//! texts about what happened.
//!
//! A kind of step returns its content as [`document::Block`]s and the effect of Enter as a [`document::PrimaryAction`]
//! ([`kinds`]). A face renders the ones and carries out the other. [`instructor`] reads the sessions of a class folder and
//! writes orders.
//!
//! The crate uses everything from `base` to `session`. It draws nothing and knows no key and no terminal.
//!
//! ```
//! use tinyllama_lesson::{Course, CourseSource};
//! use tinyllama_tutor_core::behavior;
//!
//! let course = Course::load(&CourseSource::BuiltIn).expect("the course of this program");
//! let (_, quiz) = course.steps().find(|(_, step)| step.as_quiz().is_some()).expect("a quiz");
//! assert!(behavior(quiz).parse("many").is_err());
//! ```

pub mod action;
pub mod document;
pub mod ending;
pub mod error;
pub mod gpu;
pub mod instructor;
pub mod job;
pub mod kinds;
pub mod options;
pub mod output;
pub mod prepare;
pub mod profile;
pub mod request;
pub mod say;
pub mod signals;
pub mod slide;
mod start;

pub use job::{JobRecording, recorded, tape};
pub use kinds::behavior;
pub use profile::{PreparedProfile, folder_for, note_profile};
pub use signals::{Face, SharedSession, watch};
pub use start::start_at;

pub use action::{Action, PanelAction};
pub use ending::RunEnding;
pub use error::TutorError;
pub use options::TutorOptions;
