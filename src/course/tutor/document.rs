//! What a step says and what Enter does there. Each kind of step gives both as values; the screen and the lines render
//! and carry them out.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::profile::ProfileView;
use crate::lesson::{CaseMove, Lesson, MarkedAnswer, QuizAnswer, Step};
use crate::session::{MeasuredRuns, SessionState, StepProgress, StepRef, StepStatus};

/// What a kind of step looks at.
pub(crate) struct StepContext<'a> {
    pub lesson: &'a Lesson,
    pub step: &'a Step,
    pub at: &'a StepRef,
    pub progress: StepProgress,
    pub state: &'a SessionState,
    pub measured: &'a MeasuredRuns,
    /// The last answer, if it was given since the step was opened.
    pub marked: Option<&'a MarkedAnswer>,
    /// The flags with which the step's job would be started now.
    pub flags: Vec<String>,
    pub profile: &'a ProfileView,
    /// The folder of the learner's kernels.
    pub workbench: &'a Path,
}

/// A part of what a step says below its text.
pub(crate) enum Block {
    /// The rest came from what the learner did.
    News,
    Blank,
    Text(Tone, String),
    Markdown(String),
    Quote(Tone, String),
    /// A command line.
    Code(String),
    /// Whether an answer is right.
    Verdict(bool, String),
    /// What would be started, with these flags.
    Job(Vec<String>),
    /// How to change the flags.
    Flags,
    /// A recording in place of the job, where there is no GPU.
    Offer,
    /// How far the job is.
    RunPhase,
    /// A command's document.
    Output(String, Value),
    /// Figures that the screen shows in a panel.
    Figures(String),
    /// The file of the learner's kernel.
    File(PathBuf),
    /// How to import the sample that comes with the course.
    Sample,
    Menu(Vec<MenuLine>),
}

#[derive(Clone, Copy)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Muted,
    Warning,
}

/// A line to choose.
pub(crate) struct MenuLine {
    pub text: String,
    pub mark: Mark,
    /// What is said about the line, in Markdown.
    pub said: String,
    /// What Enter does on it.
    pub does: &'static str,
    pub act: MenuAction,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    None,
    Done,
    Right,
    Wrong,
}

pub(crate) enum MenuAction {
    Give(Given),
    /// Runs a case with these flags.
    Run(CaseMove, Vec<String>),
}

/// What Enter does.
pub(crate) enum PrimaryAction {
    /// Goes on to the next step.
    Next,
    /// Takes a line of the menu.
    PaletteAction {
        does: &'static str,
        /// Said if no line was chosen.
        first: &'static str,
        /// A digit is enough of a key.
        by_digit: bool,
    },
    Ask(Question),
    /// Starts the job.
    Start(&'static str),
    Compare,
    Kernel,
    Profile,
}

/// Asks for a line, or for several.
pub(crate) struct Question {
    pub does: &'static str,
    /// Over the field.
    pub title: String,
    /// Below the field.
    pub explain: &'static str,
    /// Without a field.
    pub prompt: String,
    /// What stands in a field of several lines; `None` for one line.
    pub text: Option<String>,
}

/// What a learner enters.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Guess(f64),
    Answer(QuizAnswer),
    /// For the report.
    Text(String),
    /// The suspect of this id is to blame.
    Suspect(String),
}

/// What the learner edits at a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Editable {
    Text,
    Flags,
    Kernel,
    ProfilerCommand,
}

/// What the figures of a step show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figures {
    Run,
    Comparison,
    Profile,
    Kernel,
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text(Tone::Plain, text.into())
    }

    pub fn strong(text: impl Into<String>) -> Self {
        Block::Text(Tone::Strong, text.into())
    }
}

impl StepContext<'_> {
    /// What the step says below its text, and what Enter does.
    pub fn document(&self) -> (Vec<Block>, PrimaryAction) {
        let (blocks, primary) = self.step.behavior().document(self);
        match self.progress.status {
            StepStatus::Done => (blocks, PrimaryAction::Next),
            _ => (blocks, primary),
        }
    }

    /// The lines that can be chosen.
    pub fn menu(&self) -> Vec<MenuLine> {
        let mut blocks = self.document().0.into_iter();
        let menu = blocks.find_map(|block| match block {
            Block::Menu(lines) => Some(lines),
            _ => None,
        });
        menu.unwrap_or_default()
    }
}
