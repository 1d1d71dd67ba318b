//! Why a recording cannot be played, and what to do about it.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum RecordingError {
    #[error("{place}: {problem}")]
    Index { place: String, problem: String },
    #[error("there is no recording `{id}`")]
    Unknown { id: String, known: Vec<String> },
    #[error("{place}: cannot be read: {source}")]
    Read { place: String, source: io::Error },
    #[error("{place}: unpacked it has more than {most} MiB or a million lines")]
    TooLarge { place: String, most: u64 },
}

impl RecordingError {
    pub fn remedy(&self) -> String {
        match self {
            RecordingError::Index { .. } => {
                "Every entry has id, target, config, machine, date, version and command; driver may be left out.".into()
            }
            RecordingError::Unknown { known, .. } if known.is_empty() => {
                "This build has no recordings; --recordings names a folder of them.".into()
            }
            RecordingError::Unknown { known, .. } => format!("There are: {}.", known.join(", ")),
            RecordingError::Read { .. } | RecordingError::TooLarge { .. } => {
                "Without --recordings the built-in ones are played.".into()
            }
        }
    }
}
