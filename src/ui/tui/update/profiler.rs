//! Slow work with profilers and their files, for separate threads.

use std::path::{Path, PathBuf};

use crate::tui::{BackgroundTask, Effect, Message, ProfileMessage, TaskContext};
use tinyllama_lesson::Step;
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_profile::read::{Import, import};
use tinyllama_profile::run::{
    FinishedProfiler, ProfilerEnding, ProfilerOutput, RunError, run as run_profiler,
};
use tinyllama_profile::show::parts::KernelParts;
use tinyllama_runs::signal_name;
use tinyllama_session::StepRef;
use tinyllama_tutor_core::folder_for;
use tinyllama_tutor_core::profile::{kernel_parts, prepare as prepare_command};

/// Completes the command for this machine.
pub fn prepare(at: StepRef, step: Step) -> Effect {
    Effect::background_work("", move |context| {
        let folder = folder_for(context.root(), &at);
        let prepared =
            prepare_command(&context.options, &step, folder).map_err(|error| format!("{error:#}"));
        Message::Profile(at, ProfileMessage::Prepared(prepared))
    })
}

/// Reads a profile from another place.
pub fn read(at: StepRef, target: String, path: PathBuf) -> Effect {
    Effect::background_work("Reading the profile…", move |context| {
        let imported = imported(context, &target, &path);
        Message::Profile(at, ProfileMessage::Imported(imported))
    })
}

/// Reads a profile that comes with the course; `path` is its path in the course.
pub fn read_sample(at: StepRef, target: String, path: String) -> Effect {
    Effect::background_work("Reading the sample…", move |context| {
        let place = context.root().join("samples");
        let found = context.options.course.extract(&path, &place);
        let found = found.map_err(|why| format!("The sample {path}: {why}."));
        let imported = found.and_then(|path| imported(context, &target, &path));
        Message::Profile(at, ProfileMessage::Imported(imported))
    })
}

/// Runs a profiler, reports how it ended, then reads its files.
pub fn run(at: StepRef, target: String, line: CommandLine) -> Effect {
    let job = move |context: &TaskContext| {
        let tell = |message| context.send(Message::Profile(at.clone(), message));
        let mut each = |text: &str| tell(ProfileMessage::Line(text.to_string()));
        let result = run_profiler(&line, ProfilerOutput::Lines(&mut each));
        tell(finished(result));
        send_import(context, at.clone(), &target, &line.folder);
    };
    Effect::Work(BackgroundTask {
        meanwhile: "",
        job: Box::new(job),
    })
}

/// Sends the profile that a profiler wrote here. Sends nothing if it cannot be read.
pub fn send_import(context: &TaskContext, at: StepRef, target: &str, folder: &Path) {
    if let Ok(imported) = imported(context, target, folder) {
        let imported = ProfileMessage::Imported(Ok(imported));
        context.send(Message::Profile(at, imported));
    }
}

fn imported(
    context: &TaskContext,
    target: &str,
    path: &Path,
) -> Result<(Box<Import>, KernelParts), String> {
    let import = import(path).map_err(|error| error.to_string())?;
    Ok((Box::new(import), kernel_parts(&context.runs, target)))
}

fn finished(result: Result<FinishedProfiler, RunError>) -> ProfileMessage {
    let finished = match result {
        Ok(finished) => finished,
        Err(error) => {
            return ProfileMessage::Finished {
                lines: vec![error.to_string()],
                succeeded: false,
            };
        }
    };
    let how = match finished.ending {
        ProfilerEnding::Success => None,
        ProfilerEnding::Failed(code) => Some(format!("It ended with code {code}.")),
        ProfilerEnding::Killed(signal) => Some(format!("It was ended by {}.", signal_name(signal))),
    };
    let succeeded = how.is_none();
    let known = finished.remedies.iter();
    let known = known.map(|remedy| format!("{} {}", remedy.trouble, remedy.remedy));
    let log = finished.log.iter();
    let log = log.map(|log| format!("Log: {}", log.display()));
    ProfileMessage::Finished {
        lines: how.into_iter().chain(known).chain(log).collect(),
        succeeded,
    }
}
