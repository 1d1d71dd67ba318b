//! One thing that was looked for or tried, how it was found, and what to do about it.

use schemars::JsonSchema;
use serde::Serialize;

/// How one thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// There and usable.
    Ok,
    /// Not there; the workshop goes on without it.
    Absent,
    /// There and not usable.
    Broken,
    /// A driver that does not answer; a process that asked it may not end either.
    Hangs,
}

/// One thing that was looked for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    pub topic: &'static str,
    pub name: String,
    pub status: Status,
    pub detail: String,
    /// What to do; null where nothing is needed.
    pub remedy: Option<String>,
}

impl Finding {
    pub fn ok(topic: &'static str, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Finding {
            topic,
            name: name.into(),
            status: Status::Ok,
            detail: detail.into(),
            remedy: None,
        }
    }

    /// The same, of something that is not all right, with what to do.
    pub fn needs(self, status: Status, remedy: impl Into<String>) -> Self {
        Finding {
            status,
            remedy: Some(remedy.into()),
            ..self
        }
    }
}
