//! One result of the doctor: what was examined, its status, and a remedy.

use schemars::JsonSchema;
use serde::Serialize;

/// The status of one examined thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingStatus {
    /// It exists and is usable.
    Ok,
    /// It is missing; the workshop works without it.
    Absent,
    /// It exists but is not usable.
    Broken,
    /// The driver does not answer. A process that called it may not end either.
    Hangs,
}

/// One examined thing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeviceFinding {
    pub topic: &'static str,
    pub name: String,
    pub status: FindingStatus,
    pub detail: String,
    /// The remedy; null if none is needed.
    pub remedy: Option<String>,
}

impl DeviceFinding {
    pub fn ok(topic: &'static str, name: impl Into<String>, detail: impl Into<String>) -> Self {
        DeviceFinding {
            topic,
            name: name.into(),
            status: FindingStatus::Ok,
            detail: detail.into(),
            remedy: None,
        }
    }

    /// Sets a status that is not `Ok`, and the remedy.
    pub fn needs(self, status: FindingStatus, remedy: impl Into<String>) -> Self {
        DeviceFinding {
            status,
            remedy: Some(remedy.into()),
            ..self
        }
    }
}
