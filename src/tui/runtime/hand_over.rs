//! The terminal lent to another program: an editor, a shell, a profiler.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::Ordering;

use tokio::process::Command;

use super::Tutor;
use super::input::Input;
use crate::profiler::commands::line::CommandLine;
use crate::profiler::read::import;
use crate::session::event::StepRef;
use crate::tui::message::{Effect, HandOver, Message, ProfileMessage};
use crate::tutor::TutorError;
use crate::tutor::profile::parts_of;

/// What the program was for, once it ended.
pub struct Returned {
    purpose: Purpose,
    status: std::io::Result<ExitStatus>,
}

enum Purpose {
    Shell,
    Write {
        at: StepRef,
        file: tempfile::NamedTempFile,
    },
    Open,
    Profile {
        at: StepRef,
        target: String,
        line: CommandLine,
    },
}

impl Tutor {
    /// Stops reading keys, leaves the terminal and starts the program. Runs go on meanwhile.
    pub(super) fn hand_over(&mut self, request: HandOver) -> Result<(), TutorError> {
        let (words, purpose) = match self.program(request) {
            Ok(program) => program,
            Err(problem) => {
                self.model.warn(problem);
                return Ok(());
            }
        };
        let Some((program, arguments)) = words.split_first() else {
            return Ok(());
        };
        self.input = None;
        self.screen
            .leave()
            .map_err(TutorError::io("giving the terminal away"))?;
        self.lent.store(true, Ordering::SeqCst);
        if matches!(purpose, Purpose::Shell) {
            println!("`exit` returns to the tutor.");
        }
        let spawned = Command::new(program).args(arguments).spawn();
        let returns = self.returns.clone();
        tokio::spawn(async move {
            let status = match spawned {
                Ok(mut child) => child.wait().await,
                Err(error) => Err(error),
            };
            // The loop lives as long as it waits for this.
            let _ = returns.send(Returned { purpose, status });
        });
        Ok(())
    }

    fn program(&self, request: HandOver) -> Result<(Vec<OsString>, Purpose), String> {
        match request {
            HandOver::Shell => {
                let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
                Ok((vec![shell], Purpose::Shell))
            }
            HandOver::Write { at, text } => {
                let file = tempfile::Builder::new()
                    .prefix("reflection-")
                    .suffix(".md")
                    .tempfile()
                    .and_then(|file| std::fs::write(file.path(), text).map(|()| file))
                    .map_err(|error| format!("There is no room for a temporary file: {error}."))?;
                Ok((editor(file.path())?, Purpose::Write { at, file }))
            }
            HandOver::Open(path) => Ok((editor(&path)?, Purpose::Open)),
            HandOver::Profile { at, target, line } => {
                std::fs::create_dir_all(&line.folder)
                    .and_then(|()| {
                        line.files
                            .iter()
                            .try_for_each(|(path, text)| std::fs::write(path, text))
                    })
                    .map_err(|error| format!("{}: {error}", line.folder.display()))?;
                Ok((line.words(), Purpose::Profile { at, target, line }))
            }
        }
    }

    /// The program ended: the terminal is the tutor's again.
    pub(super) fn take_back(&mut self, returned: Returned) -> Result<(), TutorError> {
        self.lent.store(false, Ordering::SeqCst);
        self.carry_out(Effect::Redraw)?;
        self.input = Some(Input::start());
        let problem = match &returned.status {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("It ended with {status}.")),
            Err(error) => Some(format!("It could not be started: {error}.")),
        };
        match returned.purpose {
            Purpose::Shell | Purpose::Open => {
                if let (Some(problem), Err(_)) = (problem, &returned.status) {
                    self.model.warn(problem);
                }
                Ok(())
            }
            Purpose::Write { at, file } => {
                let result = match problem {
                    Some(problem) => Err(format!("The editor failed. {problem}")),
                    None => std::fs::read_to_string(file.path())
                        .map_err(|error| format!("What you wrote cannot be read: {error}.")),
                };
                self.take_in(Message::Edited(at, result))
            }
            Purpose::Profile { at, target, line } => {
                let succeeded = problem.is_none();
                let words = problem.into_iter().collect();
                self.take_in(Message::Profile(
                    at.clone(),
                    ProfileMessage::Finished { words, succeeded },
                ))?;
                match import(&line.folder) {
                    Ok(import) => {
                        let imported = (Box::new(import), parts_of(&self.root, &target));
                        self.take_in(Message::Profile(at, ProfileMessage::Imported(Ok(imported))))
                    }
                    Err(_) => Ok(()),
                }
            }
        }
    }
}

/// `$VISUAL`, `$EDITOR` or vi, with `path` behind it.
fn editor(path: &Path) -> Result<Vec<OsString>, String> {
    let chosen = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.trim().is_empty())
        .unwrap_or_else(|| "vi".into());
    let words = shlex::split(&chosen)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| format!("EDITOR is `{chosen}`, which cannot be understood."))?;
    let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    words.push(PathBuf::from(path).into());
    Ok(words)
}
