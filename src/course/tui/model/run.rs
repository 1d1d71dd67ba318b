//! A run the learner asked for.

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
    /// None where it is made here.
    pub played: Option<Played>,
    pub phase: Phase,
    /// Its id in the session; none before it is started.
    pub run: Option<String>,
    pub view: RunView,
}

/// A run of another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Id of the recording.
    pub recording: String,
    /// `NVIDIA H200, 21 November 2026`.
    pub origin: String,
    pub speed: Speed,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Waits for the one before it.
    Queued,
    Running,
    /// Asked to end.
    Stopping,
    Over(Ending),
}

impl Phase {
    pub fn is_alive(&self) -> bool {
        matches!(self, Phase::Running | Phase::Stopping)
    }
}
