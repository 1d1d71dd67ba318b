//! A run that the learner asked for.

use crate::run::Speed;
use crate::session::StepRef;
use crate::tui::{RunId, RunView};
use crate::tutor::{Ending, Job};

#[derive(Debug)]
pub struct Run {
    pub id: RunId,
    pub at: StepRef,
    pub job: Job,
    pub flags: Vec<String>,
    /// `None` for a run of this machine.
    pub played: Option<Played>,
    pub phase: Phase,
    /// Its id in the session; `None` before it starts.
    pub run: Option<String>,
    pub view: RunView,
}

/// Describes a recording of another machine that plays as a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Id of the recording.
    pub recording: String,
    /// A text such as `NVIDIA H200, 21 November 2026`.
    pub origin: String,
    pub speed: Speed,
}

/// The phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Waits for the run before it.
    Queued,
    Running,
    /// The tutor asked the run to end.
    Stopping,
    Over(Ending),
}

impl Phase {
    pub fn is_alive(&self) -> bool {
        matches!(self, Phase::Running | Phase::Stopping)
    }
}
