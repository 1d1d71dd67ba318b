//! Profile steps.

use super::scroll;
use crate::lesson::StepKind;
use crate::session::event::StepRef;
use crate::tui::message::{Effect, HandOver, ProfileMessage, Request};
use crate::tui::model::Model;
use crate::tui::panels::profile::ProfilePanel;

/// Lines of a profiler's output that are kept in view.
const LOG_LINES: usize = 12;

pub fn run(model: &mut Model, in_terminal: bool) -> Vec<Effect> {
    let Some(view) = &mut model.step else {
        return Vec::new();
    };
    let Some(line) = view.profile.line().cloned() else {
        model.tell("There is no profiler's command at this step.");
        return Vec::new();
    };
    if view.profile.is_running {
        model.tell("The profiler is running.");
        return Vec::new();
    }
    view.profile.is_running = true;
    view.profile.log.clear();
    view.profile.ending.clear();
    let at = view.at.clone();
    let target = target(model, &at);
    vec![if in_terminal {
        Effect::HandOver(HandOver::Profile { at, target, line })
    } else {
        Effect::RunProfile { at, target, line }
    }]
}

/// What a profile step profiles.
pub fn target(model: &Model, at: &StepRef) -> String {
    match model
        .course
        .step(&at.lesson, &at.step)
        .map(|step| &step.kind)
    {
        Some(StepKind::Profile { target, .. }) => target.clone(),
        _ => String::new(),
    }
}

/// The learner changed the command.
pub fn edited(model: &mut Model, at: &StepRef, text: &str) {
    let Some(view) = model.step.as_mut().filter(|view| view.at == *at) else {
        return;
    };
    let edited = view.profile.line().and_then(|line| line.edited(text));
    if edited.is_some() {
        view.profile.edited = edited;
    }
}

pub fn message(model: &mut Model, at: &StepRef, message: ProfileMessage) -> Vec<Effect> {
    let Some(view) = model.step.as_mut().filter(|view| view.at == *at) else {
        // The learner went on; what it made is kept in files.
        model.dirty = false;
        return Vec::new();
    };
    match message {
        ProfileMessage::Prepared(prepared) => view.profile.prepared = Some(prepared),
        ProfileMessage::Line(line) => {
            if view.profile.log.len() == LOG_LINES {
                view.profile.log.remove(0);
            }
            view.profile.log.push(line);
        }
        ProfileMessage::Finished { words, succeeded } => {
            view.profile.is_running = false;
            view.profile.ending = words;
            if !succeeded {
                model.warn("The profiler did not succeed; what is known about it stands below.");
            }
            scroll::to_news(model);
        }
        ProfileMessage::Imported(Err(problem)) => {
            view.profile.is_running = false;
            model.warn(problem);
        }
        ProfileMessage::Imported(Ok((import, parts))) => {
            view.profile.is_running = false;
            let command = view.profile.line().map(|line| line.words());
            let words = command
                .unwrap_or_default()
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            view.profile.panel = Some(ProfilePanel::new(*import).with_parts(parts));
            view.panel_open = true;
            model.notice = None;
            let at = at.clone();
            return vec![Effect::Session(Request::Profiled { at, command: words })];
        }
    }
    Vec::new()
}
