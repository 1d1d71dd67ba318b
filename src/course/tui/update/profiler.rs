//! Slow work with profilers and their files, for separate threads.

use std::path::{Path, PathBuf};

use crate::profiler::commands::Task;
use crate::profiler::commands::line::CommandLine;
use crate::profiler::read::{Import, import};
use crate::profiler::run::{Ending, Finished, Output, RunError, run as run_profiler};
use crate::profiler::show::parts::Parts;
use crate::run::signal_name;
use crate::session::StepRef;
use crate::tui::{Desk, Effect, Message, ProfileMessage, Work};
use crate::tutor::folder_for;
use crate::tutor::profile::{parts_of, prepare as prepare_command};

/// Completes the command for this machine.
pub fn prepare(at: StepRef, task: Task, target: String, flags: Vec<String>) -> Effect {
    Effect::work("", move |desk| {
        let folder = folder_for(desk.root(), &at);
        let prepared = prepare_command(&desk.options, &task, &target, &flags, folder)
            .map_err(|error| format!("{error:#}"));
        Message::Profile(at, ProfileMessage::Prepared(prepared))
    })
}

/// Reads a profile from another place.
pub fn read(at: StepRef, target: String, path: PathBuf) -> Effect {
    Effect::work("Reading the profile…", move |desk| {
        let imported = imported(desk, &target, &path);
        Message::Profile(at, ProfileMessage::Imported(imported))
    })
}

/// Reads a profile that comes with the course; `path` is its path in the course.
pub fn read_sample(at: StepRef, target: String, path: String) -> Effect {
    Effect::work("Reading the sample…", move |desk| {
        let place = desk.root().join("samples");
        let found = desk.options.course.extract(&path, &place);
        let found = found.map_err(|why| format!("The sample {path}: {why}."));
        let imported = found.and_then(|path| imported(desk, &target, &path));
        Message::Profile(at, ProfileMessage::Imported(imported))
    })
}

/// Runs a profiler, reports how it ended, then reads its files.
pub fn run(at: StepRef, target: String, line: CommandLine) -> Effect {
    let job = move |desk: &Desk| {
        let tell = |message| desk.tell(Message::Profile(at.clone(), message));
        let mut each = |text: &str| tell(ProfileMessage::Line(text.to_string()));
        let result = run_profiler(&line, Output::Lines(&mut each));
        tell(finished(result));
        came_of_it(desk, at.clone(), &target, &line.folder);
    };
    Effect::Work(Work {
        meanwhile: "",
        job: Box::new(job),
    })
}

/// Sends the profile that a profiler wrote here. Sends nothing if it cannot be read.
pub fn came_of_it(desk: &Desk, at: StepRef, target: &str, folder: &Path) {
    if let Ok(imported) = imported(desk, target, folder) {
        let imported = ProfileMessage::Imported(Ok(imported));
        desk.tell(Message::Profile(at, imported));
    }
}

fn imported(desk: &Desk, target: &str, path: &Path) -> Result<(Box<Import>, Parts), String> {
    let import = import(path).map_err(|error| error.to_string())?;
    Ok((Box::new(import), parts_of(&desk.runs, target)))
}

fn finished(result: Result<Finished, RunError>) -> ProfileMessage {
    let finished = match result {
        Ok(finished) => finished,
        Err(error) => {
            return ProfileMessage::Finished {
                words: vec![error.to_string()],
                succeeded: false,
            };
        }
    };
    let how = match finished.ending {
        Ending::Success => None,
        Ending::Failed(code) => Some(format!("It ended with code {code}.")),
        Ending::Killed(signal) => Some(format!("It was ended by {}.", signal_name(signal))),
    };
    let succeeded = how.is_none();
    let known = finished.remedies.iter();
    let known = known.map(|remedy| format!("{} {}", remedy.trouble, remedy.remedy));
    let log = finished.log.iter();
    let log = log.map(|log| format!("Log: {}", log.display()));
    ProfileMessage::Finished {
        words: how.into_iter().chain(known).chain(log).collect(),
        succeeded,
    }
}
