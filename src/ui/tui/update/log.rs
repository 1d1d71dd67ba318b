//! The log of the commands that this visit ran: each can be copied or run again.

use itertools::Itertools;

use super::palette::PaletteEntry;
use super::{copy, profile, runs};
use crate::tui::model::log::{LoggedCommand, LoggedKind};
use crate::tui::panels::doctor;
use crate::tui::{ChoiceList, Effect, Effects, Model, Snippet, duration};

pub fn open(model: &mut Model) -> Effects {
    if model.commands.is_empty() {
        return model.notify("No command was run in this visit yet.");
    }
    model.open_list(ChoiceList::Commands)
}

/// All commands, newest first.
pub fn entries(model: &Model) -> Vec<PaletteEntry> {
    let commands = model.commands.iter().enumerate().rev();
    let entries = commands.map(|(at, command)| PaletteEntry {
        key: state(command, model),
        copied: Some(Snippet::new(format!("command {}", at + 1), &command.line)),
        ..PaletteEntry::new(command.line.clone(), move |model| {
            model.open_list(ChoiceList::Command(at))
        })
    });
    entries.collect()
}

/// A text such as `ok in 12 s, 3 min ago`.
fn state(command: &LoggedCommand, model: &Model) -> String {
    let since = |then| duration(model.now.saturating_sub(then).as_secs_f64());
    match &command.ended {
        None => format!("running for {}", since(command.started)),
        Some((ended, how)) => {
            let took = duration(ended.saturating_sub(command.started).as_secs_f64());
            let since = since(*ended);
            // The larger unit leaves room for the command.
            let ago = since.splitn(3, ' ').take(2).format(" ");
            format!("{how} in {took}, {ago} ago")
        }
    }
}

/// What can be done with a command.
pub fn choices(model: &Model, at: usize) -> Vec<PaletteEntry> {
    let Some(command) = model.commands.get(at) else {
        return Vec::new();
    };
    let copied = Snippet::new("the command", &command.line);
    let kind = command.kind.clone();
    vec![
        PaletteEntry::new(format!("copy: {}", command.line), move |model| {
            copy::take(model, copied.clone())
        }),
        PaletteEntry {
            key: state(command, model),
            ..PaletteEntry::new("run it again".into(), move |model| {
                run_again(model, kind.clone())
            })
        },
    ]
}

fn run_again(model: &mut Model, kind: LoggedKind) -> Effects {
    model.clear_overlays();
    match kind {
        LoggedKind::Run {
            at, flags, played, ..
        } => {
            let effects = runs::queue_with(model, at, flags, played);
            if model.notice.is_none() {
                model.notify("It runs again; its figures are at its step.");
            }
            effects
        }
        LoggedKind::Profiler { at, target, line } => profile::start(model, at, target, line),
        LoggedKind::HandOver(request) => Some(vec![Effect::HandOver(request)]),
        LoggedKind::Doctor => doctor::open(model),
    }
}
