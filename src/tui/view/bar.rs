//! The command bar: what can be done now, with its keys, from the key map.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::open_panel;
use crate::lesson::StepKind;
use crate::tui::keys::Action;
use crate::tui::model::overlay::Overlay;
use crate::tui::model::run::Phase;
use crate::tui::model::{Model, Screen};
use crate::tui::panel::Panel;

/// A key with what it does.
type Command = (String, String);

pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let mut spans: Vec<Span> = Vec::new();
    let mut width = 1;
    for (key, does) in commands(model) {
        let needed = key.chars().count() + does.chars().count() + 3;
        if width + needed > usize::from(area.width) {
            break;
        }
        width += needed;
        spans.push(Span::styled(key, model.theme.accent()));
        spans.push(Span::raw(format!(" {does}  ")));
    }
    buffer.set_line(
        area.x + 1,
        area.y,
        &Line::from(spans),
        area.width.saturating_sub(1),
    );
}

/// Most useful first: what does not fit is left to the help page, whose key always does.
pub fn commands(model: &Model) -> Vec<Command> {
    let fixed = |key: &str, does: &str| (key.to_string(), does.to_string());
    match &model.overlay {
        Some(Overlay::Ask(ask)) if ask.question.has_lines() => {
            return vec![
                fixed("esc", "keep and close"),
                fixed("ctrl-c", "leave as it was"),
            ];
        }
        Some(Overlay::Ask(_)) => return vec![fixed("enter", "take it"), fixed("esc", "leave it")],
        Some(Overlay::Palette(_)) => {
            return vec![
                fixed("up/down", "choose"),
                fixed("enter", "go"),
                fixed("esc", "close"),
            ];
        }
        Some(Overlay::Confirm(_)) => return vec![fixed("y", "yes"), fixed("any other key", "no")],
        Some(Overlay::Figures(figures)) => {
            let mut commands = named(model, &[Action::ClosePanel]);
            if let Some(first) = commands.first_mut() {
                first.1 = "close".into();
            }
            commands.extend(of_panel(model, figures.panel()));
            return commands;
        }
        Some(Overlay::Page(_)) => {
            return named(
                model,
                &[
                    Action::ClosePage,
                    Action::PageScrollDown,
                    Action::PageScrollUp,
                ],
            );
        }
        None => {}
    }
    let mut commands = match model.screen {
        Screen::Outline => named(model, &[Action::Open, Action::Continue]),
        Screen::Step => step(model),
    };
    let place = commands.len().min(2);
    commands.splice(place..place, named(model, &[Action::Help]));
    let rest = named(model, &[Action::Quit, Action::Outline, Action::Palette]);
    commands.extend(rest);
    commands
}

fn named(model: &Model, actions: &[Action]) -> Vec<Command> {
    actions
        .iter()
        .filter_map(|action| Some((model.keys.shown(*action)?, action.does().to_string())))
        .collect()
}

/// What a panel can do, with the keys for it.
fn of_panel(model: &Model, panel: &dyn Panel) -> Vec<Command> {
    let commands = panel.commands().into_iter();
    let keyed = commands.filter_map(|command| {
        let key = model.keys.shown(Action::of_panel(command.action)?)?;
        Some((key, command.does.to_string()))
    });
    keyed.collect()
}

fn step(model: &Model) -> Vec<Command> {
    let Some((_, step, view)) = model.current() else {
        return Vec::new();
    };
    let key = |action: Action| model.keys.shown(action);
    let mut commands: Vec<Command> = Vec::new();
    let mut add = |action: Action, does: &str| {
        if let Some(key) = key(action) {
            commands.push((key, does.to_string()));
        }
    };
    let run = model.run_at(&view.at);
    let is_alive = run.is_some_and(|run| !matches!(run.phase, Phase::Over(_)));
    if view.panel_open {
        add(Action::ClosePanel, "back to the text");
        if is_alive {
            add(Action::Stop, "stop");
        }
        commands.extend(open_panel(model).map_or(Vec::new(), |panel| of_panel(model, panel)));
        if !is_alive {
            commands.extend(named(model, &[Action::Next]));
        }
        return commands;
    }
    if let Some(primary) = model.primary() {
        add(Action::Act, primary.does());
    }
    if is_alive {
        add(Action::Stop, "stop");
    }
    if !step.hints.is_empty() {
        add(Action::Hint, "hint");
    }
    match &step.kind {
        StepKind::Run { .. } => {
            if run.is_some() {
                add(Action::View, "figures");
            }
            add(Action::Flags, "flags");
            if !model.may_have_gpu && model.recording_at(&view.at).is_some() {
                add(Action::Play, "recording");
            }
        }
        StepKind::Profile { .. } => {
            add(Action::Edit, "edit the command");
            add(Action::Import, "import");
            add(Action::Terminal, "with the terminal");
        }
        StepKind::Kernel { .. } => add(Action::Skip, "skip with a note"),
        StepKind::Reflect => {
            add(Action::Act, "write");
            add(Action::Edit, "in your editor");
        }
        _ => {}
    }
    if model.primary() != Some(crate::tui::model::primary::Primary::Next) {
        add(Action::Next, "next");
    }
    add(Action::Previous, "back");
    commands
}
