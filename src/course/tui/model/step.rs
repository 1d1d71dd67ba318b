//! A step that is open.

use std::cell::Cell;
use std::sync::Arc;

use crate::lesson::Marked;
use crate::profiler::commands::line::CommandLine;
use crate::session::{Checked, HintStage, StepRef};
use crate::tui::{Panel, Scroll};
use crate::tutor::Prepared;

#[derive(Debug, Default)]
pub struct StepView {
    pub at: StepRef,
    pub scroll: Scroll,
    /// What the next picture has to show, wherever it was scrolled to.
    pub reveal: Cell<Option<Reveal>>,
    /// Whether the figures fill the screen instead of the text.
    pub panel_open: bool,
    /// The line of a menu the cursor is on, as it is shown; none before the learner moved to one.
    pub choice: Option<usize>,
    /// Whether it was come back to from the lesson's end: from here one goes on to the next open step.
    pub is_leftover: bool,
    /// The last answer with its reason.
    pub marked: Option<Marked>,
    pub hints: Vec<HintStage>,
    /// Verdicts of this step's checks, as far as they were asked for since it was opened.
    pub outcomes: Vec<Checked>,
    /// Flags the learner gave last; none as long as they are the step's own.
    pub flags: Option<Vec<String>>,
    pub search: Option<String>,
    /// Figures of the step's own; those of its runs are with the runs.
    pub panel: Option<Box<dyn Panel>>,
    pub profile: ProfileView,
    /// Held as long as the learner's kernel is looked after.
    pub watched: Option<Arc<()>>,
}

/// A part of a step's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reveal {
    /// The choice under the cursor.
    Choice,
    /// What was just added at the end.
    News,
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
