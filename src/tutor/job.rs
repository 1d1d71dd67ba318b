//! How the job of a step starts, and its recording.

use crate::TutorOptions;
use tinyllama_contract::flags::{RunSpec, UsageError};
use tinyllama_lesson::{CaseMove, Job, Step};
use tinyllama_runs::recording::{Library, RecordingError, documents};
use tinyllama_runs::{Launcher, RunStart, Tape};

/// A recording of a job on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecording {
    pub id: String,
    /// Name of the target or command.
    pub what: String,
    /// A text such as `NVIDIA H200, 21 November 2026`.
    pub origin: String,
}

/// Returns how to start the job with these flags.
///
/// # Errors
/// Fails if the target or command does not take the flags.
pub fn start(job: &Job, options: &TutorOptions, flags: &[String]) -> Result<RunStart, UsageError> {
    let launcher = &options.launcher;
    match job {
        Job::Run(target) => Ok(launcher.run(&RunSpec::parse(target, flags)?)),
        Job::Command(command) => {
            let session = options.location.folder.to_string_lossy();
            let mut argv = command.args(flags, &session).map_err(UsageError)?;
            if command.name == "doctor" && !launcher.is_local() {
                // The command sends its work to the other machine itself and shows both machines.
                argv.push(format!("--launcher={}", launcher.json()));
                let here = Launcher::local(launcher.program.clone());
                return Ok(RunStart::Command {
                    argv: here.command(argv),
                    is_local: false,
                });
            }
            Ok(RunStart::Command {
                argv: launcher.command(argv),
                is_local: launcher.is_local(),
            })
        }
    }
}

/// Finds the recording of a step with these flags. For an investigation, finds the recording of `case_move`.
pub fn recorded(
    library: &Library,
    step: &Step,
    flags: &[String],
    case_move: Option<CaseMove>,
) -> Option<JobRecording> {
    let of_run = |recording: &tinyllama_runs::recording::Recording| JobRecording {
        id: recording.id.clone(),
        what: format!("{} {}", recording.target, recording.config),
        origin: recording.origin(),
    };
    if let Some(case) = step.as_case() {
        return library
            .find(case.recording_of(case_move?)?)
            .ok()
            .map(of_run);
    }
    match step.job()? {
        Job::Run(target) => {
            // The recording that the lesson names, if the flags are unchanged; else a recording with the same
            // switches.
            let named = step.recording.as_deref().filter(|_| flags == step.flags);
            let named = named.and_then(|id| library.find(id).ok());
            named.or_else(|| library.of_run(&target, flags)).map(of_run)
        }
        Job::Command(_) => {
            let document = documents::find(step.recording.as_deref()?)?;
            Some(JobRecording {
                id: document.id.clone(),
                what: document.command.clone(),
                origin: document.origin(),
            })
        }
    }
}

/// Opens a recording to play: the event stream of a run, or the document of a command.
///
/// # Errors
/// Fails if no recording has this id, or its file cannot be read.
pub fn tape(library: &Library, id: &str) -> Result<Tape, RecordingError> {
    match (library.find(id), documents::find(id)) {
        (Err(_), Some(document)) => Ok(document.tape()),
        (found, _) => library.tape(found?),
    }
}
