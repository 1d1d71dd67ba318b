//! The log of the commands that this visit ran.

use std::time::Duration;

use crate::tui::{Effect, HandOver, Model, PlayedRecording, RunId};
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_session::StepRef;

/// A command that the tutor started.
#[derive(Debug)]
pub struct LoggedCommand {
    /// As a learner would type it.
    pub line: String,
    /// Time since the tutor started.
    pub started: Duration,
    /// Time since the tutor started, and how it ended; `None` while it runs.
    pub ended: Option<(Duration, String)>,
    pub kind: LoggedKind,
}

/// What is needed to run a command again.
#[derive(Clone, Debug)]
pub enum LoggedKind {
    Run {
        id: RunId,
        at: StepRef,
        flags: Vec<String>,
        played: Option<PlayedRecording>,
    },
    Profiler {
        at: StepRef,
        target: String,
        line: CommandLine,
    },
    HandOver(HandOver),
    Doctor,
}

impl Model {
    pub fn log(&mut self, line: String, kind: LoggedKind) {
        self.commands.push(LoggedCommand {
            line,
            started: self.now,
            ended: None,
            kind,
        });
    }

    /// Logs the commands among these effects.
    pub fn log_effects(&mut self, effects: &[Effect]) {
        for effect in effects {
            let (line, kind) = match effect {
                Effect::StartRun { id, job, flags, .. } => (job.line(flags), self.logged_run(*id)),
                Effect::PlayRecording { id, recording, .. } => (
                    format!("tinyllama-tutor recordings play {recording}"),
                    self.logged_run(*id),
                ),
                Effect::HandOver(request) => {
                    (request.line(), Some(LoggedKind::HandOver(request.clone())))
                }
                _ => continue,
            };
            if let Some(kind) = kind {
                self.log(line, kind);
            }
        }
    }

    fn logged_run(&mut self, id: RunId) -> Option<LoggedKind> {
        let run = self.run_mut(id)?;
        Some(LoggedKind::Run {
            id,
            at: run.at.clone(),
            flags: run.flags.clone(),
            played: run.played.clone(),
        })
    }

    /// Notes how the last running command ended for which `is_it` holds.
    pub fn log_end(&mut self, how: impl Into<String>, is_it: impl Fn(&LoggedKind) -> bool) {
        let mut running = self.commands.iter_mut().rev();
        if let Some(command) = running.find(|it| it.ended.is_none() && is_it(&it.kind)) {
            command.ended = Some((self.now, how.into()));
        }
    }
}

impl HandOver {
    /// The command line as a learner would type it.
    fn line(&self) -> String {
        match self {
            HandOver::Shell => "$SHELL".into(),
            HandOver::Command(argv) => {
                let argv = shlex::try_join(argv.iter().map(String::as_str));
                format!("tinyllama-tutor {}", argv.unwrap_or_default())
            }
            HandOver::Write { .. } => "$EDITOR reflection.md".into(),
            HandOver::Open(path) => {
                let path = path.display().to_string();
                let path = shlex::try_quote(&path).unwrap_or_default().into_owned();
                format!("$EDITOR {path}")
            }
            HandOver::Profile { line, .. } => line.shell(),
        }
    }
}
