//! A run the learner asked for.

use crate::session::event::StepRef;
use crate::tui::message::RunId;
use crate::tui::run_view::RunView;
use crate::tutor::Ending;

#[derive(Debug)]
pub struct Run {
    pub id: RunId,
    pub at: StepRef,
    pub target: String,
    pub flags: Vec<String>,
    pub phase: Phase,
    /// Its id in the session; none before it is started.
    pub run: Option<String>,
    pub view: RunView,
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
