//! The blocks below a step's text, and the effect of Enter there. Each kind of step returns both as values. The
//! full screen and the plain dialogue render the blocks and carry out the effect.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::profile::ProfileView;
use tinyllama_lesson::{CaseMove, Lesson, MarkedAnswer, OutputView, QuizAnswer, Step};
use tinyllama_session::{MeasuredRuns, SessionState, StepProgress, StepRef};

/// The data that a kind of step reads.
pub struct StepContext<'a> {
    pub lesson: &'a Lesson,
    pub step: &'a Step,
    pub at: &'a StepRef,
    pub progress: StepProgress,
    pub state: &'a SessionState,
    pub measured: &'a MeasuredRuns,
    /// The last answer, if it was given since the step was opened.
    pub marked: Option<&'a MarkedAnswer>,
    /// Flags with which the step's job would start now.
    pub flags: Vec<String>,
    pub profile: &'a ProfileView,
    /// Folder in which the learner writes kernels.
    pub workbench: &'a Path,
}

/// One part of the content below a step's text.
pub enum Block {
    /// Marks that the following blocks result from the learner's actions.
    News,
    Blank,
    Text(Tone, String),
    Markdown(String),
    Quote(Tone, String),
    /// A command line.
    Code(String),
    /// The verdict on an answer: true if it is right, and the text.
    Verdict(bool, String),
    /// The command line that would start the job with these flags.
    Job(Vec<String>),
    /// Explains how to change the flags.
    Flags,
    /// A recording in place of the job, if there is no GPU.
    Offer,
    /// The progress of the job.
    RunPhase,
    /// A title, the document of a command, and the parts of it that are shown.
    Output(String, Value, Vec<OutputView>),
    /// Figures that the screen shows in a panel.
    Figures(String),
    /// Path of the kernel file that the learner edits.
    File(PathBuf),
    /// Explains how to import the sample that comes with the course.
    Sample,
    Menu(Vec<MenuLine>),
}

/// The meaning of a text, which decides its style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Muted,
    Emphasis,
    Good,
    Warning,
    Bad,
}

/// A line that the learner can choose.
pub struct MenuLine {
    pub text: String,
    pub mark: Mark,
    /// Comment on the line, in Markdown.
    pub comment: String,
    /// Name of the effect of Enter on it.
    pub does: &'static str,
    pub act: MenuAction,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    None,
    Done,
    Right,
    Wrong,
}

pub enum MenuAction {
    Give(Given),
    /// Runs a case with these flags.
    Run(CaseMove, Vec<String>),
}

/// The effect of Enter.
pub enum PrimaryAction {
    /// Goes on to the next step.
    Next,
    /// Takes a line of the menu.
    Choose {
        does: &'static str,
        /// Message if no line was chosen.
        first: &'static str,
        /// True if a digit key alone chooses a line.
        by_digit: bool,
    },
    Ask(Question),
    /// Starts the job.
    Start(&'static str),
    Compare,
    Kernel,
    Profile,
}

/// A question that asks for one line, or for several.
pub struct Question {
    pub does: &'static str,
    /// Title over the field.
    pub title: String,
    /// Explanation below the field.
    pub explain: &'static str,
    /// Prompt of an interface without a field.
    pub prompt: String,
    /// Initial text of a field with several lines; `None` for a field of one line.
    pub text: Option<String>,
}

/// An input of the learner.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Guess(f64),
    Answer(QuizAnswer),
    /// Text for the report.
    Text(String),
    /// Id of the suspect that the learner blames.
    Suspect(String),
}

/// The part of a step that the learner can edit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Editable {
    Text,
    Flags,
    Kernel,
    ProfilerCommand,
}

/// The content of the figures at a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Figures {
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
        Block::Text(Tone::Emphasis, text.into())
    }
}
