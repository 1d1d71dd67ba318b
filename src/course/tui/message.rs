//! Everything that can happen to the tutor, and everything it can ask to be done.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::Event;

use crate::lesson::{Answer, Marked};
use crate::profiler::commands::line::CommandLine;
use crate::profiler::read::Import;
use crate::profiler::show::parts::Parts;
use crate::run::{Speed, Told};
use crate::session::turns::Repeat;
use crate::session::{Checked, HintStage, MeasuredRuns, Record, RunExit, StepRef, Tried};
use crate::tui::{Desk, Highlighter, Panel, Run, Work};
use crate::tutor::{Ending, Job, Prepared};

/// A run of this tutor, from when it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

/// What happened.
#[derive(Debug)]
pub enum Message {
    /// A key, a paste, the wheel of a mouse, another size.
    Input(Event),
    /// The session answered a [`Request`], or was told of something from outside.
    Session(Box<Reply>),
    /// What a run did.
    Run(RunId, Told),
    RunEnded {
        id: RunId,
        /// None where it was never started.
        run: Option<String>,
        ending: Ending,
    },
    /// The last run of a step, read from its files.
    RunRead(Box<Run>),
    Profile(StepRef, ProfileMessage),
    /// A learner's kernel was saved and checked, or could not be.
    Kernel(StepRef, Result<Box<Tried>, String>),
    /// The editor was closed; the text is that of a reflection.
    Edited(StepRef, Result<String, String>),
    /// A panel was asked for, and its files were read.
    Opened(Result<Box<dyn Panel>, String>),
    /// What came of some work, in words.
    Told(Result<String, String>),
    Highlighter(Arc<Highlighter>),
    /// The tutor has its terminal back after a stop from outside.
    Continued,
    /// The program that had the terminal has ended.
    Back,
}

/// From the profiler of a profile step.
#[derive(Debug)]
pub enum ProfileMessage {
    Prepared(Result<Prepared, String>),
    Line(String),
    Finished {
        /// What it printed about its own troubles, and how it ended.
        words: Vec<String>,
        succeeded: bool,
    },
    /// With the parts of the model that issued its kernels, where a run of the same target told them.
    Imported(Result<(Box<Import>, Parts), String>),
}

/// What the session is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Enter(StepRef),
    /// The end of its text was seen.
    Read(StepRef),
    /// What its checks said of the runs there are, without noting anything.
    Look(StepRef),
    Spend(StepRef, f64),
    Predict(StepRef, f64),
    Answer(StepRef, Answer),
    /// Names the suspect of this id.
    Suspect(StepRef, String),
    Reflect(StepRef, String),
    Check(StepRef),
    Hint(StepRef),
    Skip(StepRef, String),
    RunStarted {
        run: String,
        at: StepRef,
        target: String,
        command: Vec<String>,
        /// Where and when it was recorded; none where it is made here.
        recording: Option<String>,
    },
    RunFinished {
        run: String,
        at: StepRef,
        exit: RunExit,
    },
    /// A profile was made or imported for a step.
    Profiled {
        at: StepRef,
        command: Vec<String>,
    },
    /// A learner's kernel was checked.
    Tried(StepRef, Box<Tried>),
    /// Read what earlier runs measured.
    Measure,
}

/// What the session answers.
#[derive(Debug)]
pub struct Reply {
    /// What was recorded since the last one.
    pub records: Vec<Record>,
    /// Events that are not on the disk yet.
    pub unsaved: usize,
    /// Read again where runs may have changed.
    pub measured: Option<Arc<MeasuredRuns>>,
    pub news: News,
}

/// What an answer is about.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    None,
    /// A step was skipped.
    Skipped(StepRef),
    /// None where what is right depends on a command that was not run yet.
    Marked(StepRef, Option<Marked>),
    Checked {
        at: StepRef,
        outcomes: Vec<Checked>,
        /// Whether the learner asked, and no run that ended.
        asked: bool,
    },
    Looked {
        at: StepRef,
        outcomes: Vec<Checked>,
    },
    Hint {
        at: StepRef,
        hint: Option<HintStage>,
    },
    /// From outside: an instructor wrote, unlocked or reset something.
    Notices(Vec<String>),
    Failed {
        message: String,
        remedy: String,
    },
}

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    Session(Request),
    StartRun {
        id: RunId,
        job: Job,
        flags: Vec<String>,
        /// Both of a round of which this is the first.
        round: Option<Box<[Repeat; 2]>>,
    },
    /// Plays a recording as the run.
    PlayRecording {
        id: RunId,
        recording: String,
        speed: Speed,
    },
    SetSpeed(RunId, Speed),
    StopRun(RunId),
    /// Gives the terminal to another program until it ends.
    HandOver(HandOver),
    Work(Work),
    /// To the clipboard of the terminal.
    Copy(String),
    Suspend,
    Redraw,
}

/// Nothing where nothing is to be done.
pub type Effects = Option<Vec<Effect>>;

/// One after the other.
pub fn both(first: Effects, second: Effects) -> Effects {
    Some([first, second].into_iter().flatten().flatten().collect())
}

impl Effect {
    /// Work that comes to one message.
    pub fn work(
        meanwhile: &'static str,
        job: impl FnOnce(&Desk) -> Message + Send + 'static,
    ) -> Self {
        let job = Box::new(|desk: &Desk| desk.tell(job(desk)));
        Effect::Work(Work { meanwhile, job })
    }
}

/// Who gets the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum HandOver {
    Shell,
    /// This program with these words, which prints and ends.
    Command(Vec<String>),
    /// `$EDITOR` on the text of a reflection.
    Write {
        at: StepRef,
        text: String,
    },
    /// `$EDITOR` on a file of the workbench.
    Open(PathBuf),
    /// A profiler that wants a terminal of its own.
    Profile {
        at: StepRef,
        target: String,
        line: CommandLine,
    },
}
