//! A step that is open.

use crate::lesson::quiz::Answer;
use crate::profiler::commands::line::CommandLine;
use crate::session::event::StepRef;
use crate::tui::message::HintText;
use crate::tui::panels::compare::ComparePanel;
use crate::tui::panels::profile::ProfilePanel;
use crate::tutor::outcome::Shown;
use crate::tutor::profile::Prepared;

#[derive(Debug)]
pub struct StepView {
    pub at: StepRef,
    /// First line of the text that is shown.
    pub scroll: usize,
    /// Whether the figures fill the screen instead of the text.
    pub panel_open: bool,
    /// The choice of a quiz the cursor is on.
    pub choice: usize,
    /// The last answer with its reason.
    pub marked: Option<Marked>,
    pub hints: Vec<HintText>,
    /// Verdicts of this step's checks, as far as they were asked for since it was opened.
    pub outcomes: Vec<Shown>,
    /// Flags the learner gave last; none as long as they are the step's own.
    pub flags: Option<Vec<String>>,
    pub search: Option<String>,
    pub compare: Option<ComparePanel>,
    pub profile: ProfileView,
}

/// An answer that was marked.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    pub answer: Answer,
    pub correct: bool,
    pub because: String,
}

/// A profile step's command and what came of it.
#[derive(Debug, Default)]
pub struct ProfileView {
    pub prepared: Option<Result<Prepared, String>>,
    /// As the learner changed it.
    pub edited: Option<CommandLine>,
    pub is_running: bool,
    /// Last lines of the profiler's output.
    pub log: Vec<String>,
    /// How it ended and what it complained of.
    pub ending: Vec<String>,
    pub panel: Option<ProfilePanel>,
}

impl ProfileView {
    /// The command as it would be run now.
    pub fn line(&self) -> Option<&CommandLine> {
        match (&self.edited, &self.prepared) {
            (Some(line), _) => Some(line),
            (None, Some(Ok(prepared))) => Some(&prepared.line),
            _ => None,
        }
    }
}

impl StepView {
    pub fn new(at: StepRef) -> Self {
        Self {
            at,
            scroll: 0,
            panel_open: false,
            choice: 0,
            marked: None,
            hints: Vec::new(),
            outcomes: Vec::new(),
            flags: None,
            search: None,
            compare: None,
            profile: ProfileView::default(),
        }
    }
}
