//! A run that the learner asked for.

use crate::tui::{Pane, Panel, PanelCommand, RunId, RunView};
use tinyllama_lesson::Job;
use tinyllama_runs::Speed;
use tinyllama_session::StepRef;
use tinyllama_tutor_core::{PanelAction, RunEnding};

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
    /// How far a command says it is.
    pub said: Option<String>,
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

/// The figures of a run are a panel of their step.
impl Panel for RunView {
    fn title(&self) -> String {
        self.title()
    }

    fn paint(&self, pane: &mut Pane) {
        self.paint(pane);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        self.act(action)
    }

    fn filter(&mut self, text: &str) -> bool {
        self.filter(text)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        self.commands()
    }
}
