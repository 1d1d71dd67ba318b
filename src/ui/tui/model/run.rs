//! A run that the learner asked for.

use crate::tui::{RunId, RunView};
use tinyllama_lesson::Job;
use tinyllama_runs::Speed;
use tinyllama_session::StepRef;
use tinyllama_tutor_core::RunEnding;

#[derive(Debug)]
pub struct TutorRun {
    pub id: RunId,
    pub at: StepRef,
    pub job: Job,
    pub flags: Vec<String>,
    /// `None` for a run of this machine.
    pub played: Option<PlayedRecording>,
    pub phase: RunPhase,
    /// Its id in the session; `None` before it starts.
    pub run: Option<String>,
    pub view: RunView,
}

/// Describes a recording of another machine that plays as a run.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedRecording {
    /// Id of the recording.
    pub recording: String,
    /// A text such as `NVIDIA H200, 21 November 2026`.
    pub origin: String,
    pub speed: Speed,
}

/// The phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunPhase {
    /// Waits for the run before it.
    Queued,
    Running,
    /// The tutor asked the run to end.
    Stopping,
    Over(RunEnding),
}

impl RunPhase {
    pub fn is_alive(&self) -> bool {
        matches!(self, RunPhase::Running | RunPhase::Stopping)
    }
}
