//! Who has a session open.

use std::fmt;

use serde::{Deserialize, Serialize};

use tinyllama_base::{host_name, now};

/// The process that has a session open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub host: String,
    /// UTC, RFC 3339.
    pub since: String,
}

impl Holder {
    pub(super) fn this_process() -> Self {
        Self {
            pid: std::process::id(),
            host: host_name(),
            since: now(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "process {} on {}, since {}",
            self.pid, self.host, self.since
        )
    }
}
