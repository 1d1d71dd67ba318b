//! Keys to actions, actions to their functions.

use crossterm::event::{KeyEvent, KeyEventKind};

use super::{act, ask, figures, navigate, note_time, palette, play, runs, scroll};
use crate::recording::play::Speed;
use crate::tui::keys::{Action, Area, Key};
use crate::tui::message::{Effect, HandOver, Request};
use crate::tui::model::overlay::{Confirm, Overlay, Page, PageContent};
use crate::tui::model::{Model, Screen};

pub fn key(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    if event.kind == KeyEventKind::Release {
        model.dirty = false;
        return Vec::new();
    }
    let mut effects = sign_of_life(model);
    let key = Key::of(&event);
    // While something is typed, a notice that came meanwhile stays to be read.
    let types = matches!(model.overlay, Some(Overlay::Ask(_)));
    let had_notice = !types && model.notice.take().is_some();
    effects.extend(match &model.overlay {
        Some(Overlay::Ask(_)) => ask::key(model, event),
        Some(Overlay::Palette(_)) => palette::key(model, event),
        Some(Overlay::Confirm(confirm)) => {
            let confirm = confirm.clone();
            confirmed(model, &confirm, key)
        }
        Some(Overlay::Page(_) | Overlay::Figures(_)) => {
            match model.keys.action(&areas(model), key) {
                Some(action) => act(model, action),
                None => nothing(model, had_notice),
            }
        }
        None => match model.keys.action(&areas(model), key) {
            Some(action) => act(model, action),
            None => match navigate::choice_by_number(model, key) {
                Some(effects) => effects,
                None => nothing(model, had_notice),
            },
        },
    });
    effects
}

/// Which keys are in force, the innermost first.
pub fn areas(model: &Model) -> Vec<Area> {
    match (&model.overlay, model.screen) {
        (Some(Overlay::Page(_)), _) => vec![Area::Page, Area::Everywhere],
        (Some(Overlay::Figures(_)), _) => vec![Area::Panel, Area::Everywhere],
        (_, Screen::Outline) => vec![Area::Outline, Area::Everywhere],
        (_, Screen::Step) if panel_is_open(model) => {
            vec![Area::Panel, Area::Step, Area::Everywhere]
        }
        (_, Screen::Step) => vec![Area::Step, Area::Everywhere],
    }
}

fn panel_is_open(model: &Model) -> bool {
    model.step.as_ref().is_some_and(|view| view.panel_open)
}

fn nothing(model: &mut Model, had_notice: bool) -> Vec<Effect> {
    model.dirty = had_notice;
    Vec::new()
}

fn sign_of_life(model: &mut Model) -> Vec<Effect> {
    let seconds = model.attention.key(model.now);
    match (seconds, &model.step) {
        (Some(seconds), Some(view)) => {
            vec![Effect::Session(Request::Spend(view.at.clone(), seconds))]
        }
        _ => Vec::new(),
    }
}

/// Carries out an action, whether a key or the palette asked for it.
pub fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    if action == Action::Select
        && let Some(effects) = figures::select(model)
    {
        return effects;
    }
    if let Some(panel) = action.panel() {
        return scroll::panel(model, panel);
    }
    match action {
        Action::Quit => quit(model),
        Action::Help => page(model, "Keys", PageContent::Help),
        Action::Palette => palette::open(model),
        Action::Outline | Action::Back => navigate::outline(model),
        Action::Redraw => vec![Effect::Redraw],
        Action::Suspend => vec![Effect::Suspend],
        Action::Shell => vec![Effect::HandOver(HandOver::Shell)],
        Action::Messages => messages(model),
        Action::Kernels => figures::kernels(model),
        Action::Report => figures::report(model),
        Action::Roofline => figures::roofline(model),

        Action::Open => navigate::open_row(model),
        Action::Continue => navigate::proceed(model),
        Action::OutlineUp => navigate::cursor(model, -1),
        Action::OutlineDown => navigate::cursor(model, 1),
        Action::OutlinePageUp => navigate::cursor(model, -10),
        Action::OutlinePageDown => navigate::cursor(model, 10),
        Action::OutlineTop => navigate::cursor(model, isize::MIN / 2),
        Action::OutlineBottom => navigate::cursor(model, isize::MAX / 2),

        Action::Act => act::primary(model),
        Action::Next => navigate::next(model),
        Action::Previous => navigate::previous(model),
        Action::Hint => act::hint(model),
        Action::Flags => act::flags(model),
        Action::Stop => runs::ask_to_stop(model),
        Action::Play => play::play(model),
        Action::Faster => play::turn(model, Speed::faster),
        Action::Slower => play::turn(model, Speed::slower),
        Action::View => act::view(model),
        Action::Check => act::check(model),
        Action::Skip => act::skip(model),
        Action::Edit => act::edit(model),
        Action::Import => act::import(model),
        Action::Terminal => act::terminal(model),
        Action::Search => act::search(model),
        Action::NextMatch => scroll::to_match(model, true),
        Action::PreviousMatch => scroll::to_match(model, false),
        Action::Up => navigate::line(model, -1),
        Action::Down => navigate::line(model, 1),
        Action::PageUp => scroll::pages(model, -1),
        Action::PageDown => scroll::pages(model, 1),
        Action::Top => scroll::to(model, 0),
        Action::Bottom => scroll::to(model, usize::MAX),

        Action::ClosePanel if model.overlay.is_some() => {
            model.overlay = None;
            Vec::new()
        }
        Action::ClosePanel => {
            if let Some(view) = &mut model.step {
                view.panel_open = false;
            }
            scroll::clamp(model);
            Vec::new()
        }
        Action::ClosePage => {
            model.overlay = None;
            Vec::new()
        }
        Action::PageLineUp => scroll::page(model, -1),
        Action::PageLineDown => scroll::page(model, 1),
        Action::PageScrollUp => scroll::page(model, -10),
        Action::PageScrollDown => scroll::page(model, 10),
        Action::PageTop => scroll::page(model, isize::MIN / 2),
        Action::PageBottom => scroll::page(model, isize::MAX / 2),
        _ => Vec::new(),
    }
}

pub fn page(model: &mut Model, title: impl Into<String>, content: PageContent) -> Vec<Effect> {
    model.overlay = Some(Overlay::Page(Page {
        title: title.into(),
        content,
        scroll: 0,
    }));
    Vec::new()
}

fn messages(model: &mut Model) -> Vec<Effect> {
    model.messages_seen = model.state.messages.len();
    let mut text = String::new();
    for message in model.state.messages.iter().rev() {
        text.push_str(&format!(
            "**{}**, {}\n\n{}\n\n",
            message.from, message.time, message.text
        ));
    }
    for note in model.state.notes.iter().rev().take(20) {
        text.push_str(&format!("*The tutor:* {note}\n\n"));
    }
    if text.is_empty() {
        text.push_str("Nobody has written to you.");
    }
    page(model, "Messages", PageContent::Markdown(text))
}

fn quit(model: &mut Model) -> Vec<Effect> {
    if model.running().is_some() {
        model.overlay = Some(Overlay::Confirm(Confirm::Quit));
        return Vec::new();
    }
    leave(model)
}

fn leave(model: &mut Model) -> Vec<Effect> {
    model.quitting = true;
    let mut effects: Vec<Effect> = note_time(model).into_iter().collect();
    effects.push(Effect::Quit);
    effects
}

fn confirmed(model: &mut Model, confirm: &Confirm, key: Key) -> Vec<Effect> {
    use crossterm::event::KeyCode::{Char, Enter};
    model.overlay = None;
    if !matches!(key.code, Char('y' | 'Y') | Enter) {
        return Vec::new();
    }
    match confirm {
        Confirm::Stop(id) => runs::stop(model, *id),
        Confirm::Quit => leave(model),
    }
}
