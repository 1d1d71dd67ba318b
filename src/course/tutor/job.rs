//! What a step starts: a run of a target, or a command of the tutor.

use crate::lesson::{Case, Command, Deed, Step, StepKind};
use crate::recording::{Library, RecordingError, documents};
use crate::run::{Launcher, RunSpec, Start, Tape, UsageError};
use crate::tutor::Options;

/// Something that is started and seen to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// Of this target.
    Run(String),
    Command(Command),
}

/// What was recorded of a job on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub id: String,
    /// What ran there.
    pub what: String,
    /// `NVIDIA H200, 21 November 2026`.
    pub origin: String,
}

impl Job {
    /// None for a step that starts nothing.
    pub fn of(step: &Step) -> Option<Self> {
        match &step.kind {
            StepKind::Run { target, .. } | StepKind::Investigate(Case { target, .. }) => {
                Some(Job::Run(target.clone()))
            }
            StepKind::Command { command, .. } => Some(Job::Command(*command)),
            _ => None,
        }
    }

    /// The target, or the command.
    pub fn name(&self) -> &str {
        match self {
            Job::Run(target) => target,
            Job::Command(command) => command.name,
        }
    }

    /// As it would be typed.
    pub fn line(&self, flags: &[String]) -> String {
        let flags = shlex::try_join(flags.iter().map(String::as_str)).unwrap_or_default();
        let line = match self {
            Job::Run(target) => format!("tinyllama-tutor run {target} {flags}"),
            Job::Command(command) => format!("tinyllama-tutor {} {flags}", command.name),
        };
        line.trim_end().to_string()
    }

    /// # Errors
    /// When it does not take these flags.
    pub fn start(&self, options: &Options, flags: &[String]) -> Result<Start, UsageError> {
        let launcher = &options.launcher;
        match self {
            Job::Run(target) => Ok(launcher.run(&RunSpec::parse(target, flags)?)),
            Job::Command(command) => {
                let session = options.place.folder.to_string_lossy();
                let mut words = command.words(flags, &session).map_err(UsageError)?;
                if command.name == "doctor" && !launcher.is_local() {
                    // It goes to the other machine itself, and shows both.
                    words.push(format!("--launcher={}", launcher.json()));
                    let here = Launcher::local(launcher.program.clone());
                    return Ok(Start::Command {
                        words: here.command(words),
                        is_local: false,
                    });
                }
                Ok(Start::Command {
                    words: launcher.command(words),
                    is_local: launcher.is_local(),
                })
            }
        }
    }
}

/// The flags of a step's own, without a change by the learner.
pub fn own_flags(step: &Step) -> &[String] {
    match &step.kind {
        StepKind::Run { flags, .. }
        | StepKind::Command { flags, .. }
        | StepKind::Profile { flags, .. }
        | StepKind::Investigate(Case { flags, .. }) => flags,
        _ => &[],
    }
}

/// What was recorded of a step with these flags; of an investigation, of one of its deeds.
pub fn recorded(
    library: &Library,
    step: &Step,
    flags: &[String],
    deed: Option<Deed>,
) -> Option<Recorded> {
    let of_run = |recording: &crate::recording::Recording| Recorded {
        id: recording.id.clone(),
        what: format!("{} {}", recording.target, recording.config),
        origin: recording.origin(),
    };
    match &step.kind {
        StepKind::Run {
            target, flags: own, ..
        } => {
            // The one that the lesson names, as long as the flags are the step's own; else one of the same switches.
            let named = step.recording.as_deref().filter(|_| flags == own);
            let named = named.and_then(|id| library.find(id).ok());
            named.or_else(|| library.of_run(target, flags)).map(of_run)
        }
        StepKind::Investigate(case) => {
            let id = case.recording_of(deed?)?;
            library.find(id).ok().map(of_run)
        }
        StepKind::Command { .. } => {
            let document = documents::find(step.recording.as_deref()?)?;
            Some(Recorded {
                id: document.id.clone(),
                what: document.command.clone(),
                origin: document.origin(),
            })
        }
        _ => None,
    }
}

/// What plays a recording: a run's stream, or a command's document.
///
/// # Errors
/// When there is none of this id, or its file cannot be read.
pub fn tape(library: &Library, id: &str) -> Result<Tape, RecordingError> {
    match (library.find(id), documents::find(id)) {
        (Err(_), Some(document)) => Ok(document.tape()),
        (found, _) => library.tape(found?),
    }
}
