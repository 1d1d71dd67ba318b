//! What the full screen and the plain dialogue share: how they are started, how a run becomes part of a session, and the
//! words for what happened.

pub mod ending;
pub mod error;
pub mod gpu;
pub mod options;
pub mod outcome;
pub mod profile;
pub mod recordings;
pub mod say;
pub mod signals;

pub use ending::Ending;
pub use error::TutorError;
pub use options::Options;
