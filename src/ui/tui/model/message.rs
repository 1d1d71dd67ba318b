//! Everything that can happen to the tutor, and everything that it can ask for.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::Event;

use crate::tui::{BackgroundTask, Highlighter, OccupancyAnswer, Panel, TaskContext, TutorRun};
use tinyllama_lesson::Job;
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_profile::read::Import;
use tinyllama_profile::show::parts::KernelParts;
use tinyllama_runs::{RunUpdate, Speed};
use tinyllama_session::turns::Repeat;
use tinyllama_session::{CheckedKernel, StepRef};
use tinyllama_tutor_core::request::{Reply, SessionRequest};
use tinyllama_tutor_core::{PreparedProfile, RunEnding};
use tinyllama_workbench::check::CheckProgress;

/// A run of this tutor. It gets its id when the learner asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

/// An event for `update`.
#[derive(Debug)]
pub enum Message {
    /// A key, a paste, a mouse wheel turn, or a new size.
    Input(Event),
    /// The session answered a [`SessionRequest`], or reports something from outside.
    Session(Box<Reply>),
    /// Progress of a run.
    Run(RunId, RunUpdate),
    RunEnded {
        id: RunId,
        /// `None` if the run never started.
        run: Option<String>,
        ending: RunEnding,
    },
    /// The last run of a step, read from its files.
    RunRead(Box<TutorRun>),
    Profile(StepRef, ProfileMessage),
    /// A learner's kernel was saved and checked, or could not be checked.
    Kernel(StepRef, Result<Box<CheckedKernel>, String>),
    /// What a check is doing.
    KernelProgress(StepRef, CheckProgress),
    /// A compiler answers the occupancy panel.
    Occupancy(Box<OccupancyAnswer>),
    /// The learner closed the editor; the text is their reflection.
    Edited(StepRef, Result<String, String>),
    /// A panel has read its files and can open.
    Opened(Result<Box<dyn Panel>, String>),
    /// The open panel of this title was written again. Meanwhile it may have been closed.
    Renewed(Result<Box<dyn Panel>, String>),
    /// The result of some work, as a text for the learner.
    WorkDone(Result<String, String>),
    Highlighter(Arc<Highlighter>),
    /// The process goes on after a stop from outside, and the tutor has its terminal back.
    Continued,
    /// The program that had the terminal has ended, in these words: `ok`, `exit status: 1`.
    Back(String),
}

/// Messages of the profiler in a profile step.
#[derive(Debug)]
pub enum ProfileMessage {
    Prepared(Result<PreparedProfile, String>),
    Line(String),
    Finished {
        /// The profiler's own error messages, and how it ended.
        lines: Vec<String>,
        succeeded: bool,
    },
    /// `KernelParts` are the model parts that issued the kernels, if a run of the same target reported them.
    Imported(Result<(Box<Import>, KernelParts), String>),
}

/// An action for the runtime to carry out.
#[derive(Debug)]
pub enum Effect {
    Session(SessionRequest),
    StartRun {
        id: RunId,
        job: Job,
        flags: Vec<String>,
        /// Both runs of the round, if this is its first.
        round: Option<Box<[Repeat; 2]>>,
    },
    /// Plays a recording as if it were a run.
    PlayRecording {
        id: RunId,
        recording: String,
        speed: Speed,
    },
    SetSpeed(RunId, Speed),
    StopRun(RunId),
    /// Gives the terminal to another program until it ends.
    HandOver(HandOver),
    Work(BackgroundTask),
    /// Puts a text into the terminal's clipboard.
    Copy(String),
    Suspend,
    Redraw,
}

/// The effects to carry out; `None` if there are none.
pub type Effects = Option<Vec<Effect>>;

/// Concatenates two lists of effects.
pub fn both_effects(first: Effects, second: Effects) -> Effects {
    Some([first, second].into_iter().flatten().flatten().collect())
}

impl Effect {
    /// An effect for slow work whose result is one message.
    pub fn background_work(
        meanwhile: &'static str,
        job: impl FnOnce(&TaskContext) -> Message + Send + 'static,
    ) -> Self {
        let job = Box::new(|context: &TaskContext| context.send(job(context)));
        Effect::Work(BackgroundTask { meanwhile, job })
    }
}

/// The program that gets the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum HandOver {
    Shell,
    /// This program with these arguments; it prints and ends.
    Command(Vec<String>),
    /// `$EDITOR` on the text of a reflection.
    Write {
        at: StepRef,
        text: String,
    },
    /// `$EDITOR` on a file of the workbench.
    Open(PathBuf),
    /// A profiler that needs the terminal.
    Profile {
        at: StepRef,
        target: String,
        line: CommandLine,
    },
}
