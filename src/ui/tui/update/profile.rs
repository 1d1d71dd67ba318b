//! Profile steps.

use std::path::Path;

use super::primary::Primary::{self, Do};
use super::request::request;
use super::{ask, profiler};
use crate::tui::model::log::LoggedKind;
use crate::tui::panels::profile::panel;
use crate::tui::{
    Effect, Effects, HandOver, Model, OpenStep, ProfileMessage, Reveal, SessionRequest, StepView,
};
use tinyllama_profile::NothingRecorded;
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_session::StepRef;

/// Visible lines of a profiler's output.
const LOG_LINES: usize = 12;

/// Returns the effect of Enter at a profile step; `None` while the tutor looks for the profiler or runs it.
pub fn primary(model: &Model, here: &OpenStep) -> Option<Primary> {
    let is_installed = is_installed(model)?;
    Some(match here.step.golden.import {
        _ if is_installed => Do("run the profiler", |model, here| run(model, here, false)),
        Some(_) => Do("import the sample", import_sample),
        None => Do("import a file", import),
    })
}

/// `None` while the tutor looks for the profiler or runs it.
fn is_installed(model: &Model) -> Option<bool> {
    let profile = &model.step.as_ref()?.profile;
    let prepared = profile.prepared.as_ref().filter(|_| !profile.is_running)?;
    Some(prepared.as_ref().is_ok_and(|it| it.is_installed))
}

/// Returns whether Enter imports the sample, because the profiler is not installed.
pub fn reads_sample(model: &Model, here: &OpenStep) -> bool {
    here.step.golden.import.is_some() && is_installed(model) == Some(false)
}

pub fn in_terminal(model: &mut Model, here: &OpenStep) -> Effects {
    run(model, here, true)
}

pub fn run(model: &mut Model, here: &OpenStep, in_terminal: bool) -> Effects {
    let target = target(model, &here.at);
    let view = model.step.as_mut()?;
    let Some(line) = view.profile.line().cloned() else {
        return model.notify("There is no profiler command at this step.");
    };
    if view.profile.is_running {
        return model.notify("The profiler is running.");
    }
    let at = here.at.clone();
    match in_terminal {
        true => {
            mark_running(view);
            Some(vec![Effect::HandOver(HandOver::Profile {
                at,
                target,
                line,
            })])
        }
        false => start(model, at, target, line),
    }
}

/// Runs a profiler in the background.
pub fn start(model: &mut Model, at: StepRef, target: String, line: CommandLine) -> Effects {
    if let Some(view) = model.view_at(&at) {
        mark_running(view);
    }
    let kind = LoggedKind::Profiler {
        at: at.clone(),
        target: target.clone(),
        line: line.clone(),
    };
    model.log(line.shell(), kind);
    Some(vec![profiler::run(at, target, line)])
}

fn mark_running(view: &mut StepView) {
    view.profile.is_running = true;
    view.profile.log.clear();
    view.profile.ending.clear();
}

/// Returns the target that a profile step profiles.
pub fn target(model: &Model, at: &StepRef) -> String {
    let step = model.course.step(&at.lesson, &at.step);
    step.and_then(|step| step.target.clone())
        .unwrap_or_default()
}

pub fn import(model: &mut Model, here: &OpenStep) -> Effects {
    match here.step.as_profile() {
        Some(_) => ask::import(model, here),
        None => model.notify("Profiles can only be imported at a profile step."),
    }
}

/// Imports the sample of this step: a real profile of another machine, which comes with the course.
pub fn import_sample(model: &mut Model, here: &OpenStep) -> Effects {
    let Some(path) = here.step.golden.import.clone() else {
        return import(model, here);
    };
    let (at, target) = (here.at.clone(), target(model, &here.at));
    Some(vec![profiler::read_sample(at, target, path)])
}

/// Takes over the command that the learner edited.
pub fn edited(model: &mut Model, at: &StepRef, text: &str) {
    if let Some(view) = model.view_at(at) {
        let edited = view.profile.line().and_then(|line| line.edited(text));
        view.profile.edited = edited.or(view.profile.edited.take());
    }
}

pub fn message(model: &mut Model, at: &StepRef, message: ProfileMessage) -> Effects {
    if let ProfileMessage::Finished { succeeded, .. } = &message {
        let how = if *succeeded { "ok" } else { "failed" };
        model.log_end(
            how,
            |kind| matches!(kind, LoggedKind::Profiler { at: it, .. } if it == at),
        );
    }
    let Some(view) = model.step.as_mut().filter(|view| view.at == *at) else {
        // The learner went on to another step; the result is in files.
        model.dirty = false;
        return None;
    };
    match message {
        ProfileMessage::Prepared(prepared) => view.profile.prepared = Some(prepared),
        ProfileMessage::Line(line) => {
            if view.profile.log.len() == LOG_LINES {
                view.profile.log.remove(0);
            }
            view.profile.log.push(line);
        }
        ProfileMessage::Finished { lines, succeeded } => {
            view.profile.is_running = false;
            view.profile.ending = lines;
            view.reveal.set(Some(Reveal::News));
            if !succeeded {
                model.warn("The profiler did not succeed; see the details below.");
            }
        }
        ProfileMessage::Imported(Err(problem)) => {
            view.profile.is_running = false;
            model.warn(problem);
        }
        ProfileMessage::Imported(Ok((import, parts))) => {
            view.profile.is_running = false;
            let nothing = NothingRecorded::explain(&import);
            view.profile.nothing = nothing
                .as_ref()
                .map(NothingRecorded::lines)
                .unwrap_or_default();
            if nothing.is_some() {
                view.panel = Some(Box::new(panel(*import, &parts)));
                view.panel_open = true;
                return model.warn("Nothing of a GPU was recorded: the step is not done.");
            }
            let files: Vec<&Path> = import
                .taken
                .iter()
                .map(|file| file.path.as_path())
                .collect();
            let mut places = files.iter().take(1).flat_map(|file| file.ancestors());
            let place = places.find(|place| files.iter().all(|file| file.starts_with(place)));
            let place = place.unwrap_or(Path::new(""));
            // A file from elsewhere was not made by this step's command.
            let line = view.profile.line();
            let command = match line.filter(|line| place.starts_with(&line.folder)) {
                Some(line) => line.args(),
                None => vec!["profile".into(), "import".into(), place.into()],
            };
            let command = command
                .iter()
                .map(|word| word.to_string_lossy().into_owned());
            view.panel = Some(Box::new(panel(*import, &parts)));
            view.panel_open = true;
            let (at, command) = (at.clone(), command.collect());
            model.notice = None;
            return request(SessionRequest::Profiled { at, command });
        }
    }
    None
}
