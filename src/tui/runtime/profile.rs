//! Profilers and their files, on threads of their own.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc;

use crate::lesson::course::Tool;
use crate::profiler::commands::line::CommandLine;
use crate::profiler::read::import as read;
use crate::profiler::run::{Ending, Output, RunError, run as run_profiler};
use crate::profiler::show::parts::Parts;
use crate::session::event::StepRef;
use crate::tui::message::{Message, ProfileMessage};
use crate::tutor::Options;
use crate::tutor::ending::signal_name;
use crate::tutor::profile::{folder_for, parts_of, prepare as prepare_command};

/// What such work needs of the tutor.
pub struct Job {
    pub options: Arc<Options>,
    pub root: PathBuf,
    pub sender: mpsc::Sender<Message>,
}

impl Job {
    fn tell(&self, at: &StepRef, message: ProfileMessage) {
        let _ = self
            .sender
            .blocking_send(Message::Profile(at.clone(), message));
    }

    fn parts(&self, target: &str) -> Parts {
        parts_of(&self.root, target)
    }
}

pub fn prepare(job: Job, at: StepRef, tool: Tool, target: String, flags: Vec<String>) {
    thread::spawn(move || {
        let folder = folder_for(&job.root, &at);
        let prepared = prepare_command(&job.options, tool, &target, &flags, folder)
            .map_err(|error| format!("{error:#}"));
        job.tell(&at, ProfileMessage::Prepared(prepared));
    });
}

pub fn run(job: Job, at: StepRef, target: String, line: CommandLine) {
    thread::spawn(move || {
        let mut each = |text: &str| job.tell(&at, ProfileMessage::Line(text.to_string()));
        let result = run_profiler(&line, Output::Lines(&mut each));
        finished(&job, &at, &target, &line, result);
    });
}

pub fn import(job: Job, at: StepRef, target: String, path: PathBuf) {
    thread::spawn(move || {
        let imported = read(&path).map_err(|error| error.to_string());
        let imported = imported.map(|import| (Box::new(import), job.parts(&target)));
        job.tell(&at, ProfileMessage::Imported(imported));
    });
}

/// Says how it ended, then reads what it wrote.
fn finished(
    job: &Job,
    at: &StepRef,
    target: &str,
    line: &CommandLine,
    result: Result<crate::profiler::run::Finished, RunError>,
) {
    let (mut words, succeeded) = match &result {
        Ok(finished) => match finished.ending {
            Ending::Success => (Vec::new(), true),
            Ending::Failed(code) => (vec![format!("It ended with code {code}.")], false),
            Ending::Killed(signal) => (
                vec![format!("It was ended by {}.", signal_name(signal))],
                false,
            ),
        },
        Err(error) => (vec![error.to_string()], false),
    };
    if let Ok(finished) = &result {
        let known = finished.remedies.iter();
        words.extend(known.map(|remedy| format!("{} {}", remedy.trouble, remedy.remedy)));
        words.extend(
            finished
                .log
                .iter()
                .map(|log| format!("Log: {}", log.display())),
        );
    }
    job.tell(at, ProfileMessage::Finished { words, succeeded });
    if let Ok(import) = read(&line.folder) {
        let imported = (Box::new(import), job.parts(target));
        job.tell(at, ProfileMessage::Imported(Ok(imported)));
    }
}
