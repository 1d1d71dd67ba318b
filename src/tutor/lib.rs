//! Shared parts of the full screen and the plain dialogue: their options, how a run becomes part of a session, and
//! texts about what happened.

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
pub mod say;
pub mod signals;
pub mod slide;

pub use job::{JobRecording, recorded, tape};
pub use kinds::behavior;
pub use profile::{PreparedProfile, folder_for, note_profile};
pub use signals::{Face, SharedSession, watch};

pub use action::{Action, PanelAction};
pub use ending::RunEnding;
pub use error::TutorError;
pub use options::TutorOptions;
