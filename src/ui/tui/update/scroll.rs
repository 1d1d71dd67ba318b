//! Scrolls what is longer than the screen.

use super::act;
use super::navigate::through_outline;
use crate::tui::{Area, Ask, Confirm, Effects, FocusedScreen, Key, Model, Overlay, both_effects};
use crossterm::event::KeyCode;
use std::sync::Arc;
use tinyllama_session::StepRef;
use tinyllama_tutor_core::PanelAction;

use crate::tui::view::document;

/// Scrolls the text of the open step.
pub fn text(model: &mut Model, action: PanelAction) {
    let scroll = model.step.as_ref().map(|view| &view.scroll);
    model.dirty = scroll.is_some_and(|scroll| scroll.act(action, scroll.page()));
}

/// Moves in the panel that has the keys. Asks before something is deleted.
pub fn panel(model: &mut Model, action: PanelAction) -> Effects {
    if action == PanelAction::Remove {
        let removes = model.panel_mut().and_then(|panel| panel.effects(action));
        return match removes {
            Some(_) => model.push_overlay(Overlay::Confirm(Confirm::Remove)),
            None => {
                model.notify("Nothing here can be deleted: the course needs it, or it goes on.")
            }
        };
    }
    in_panel(model, action)
}

/// Carries out an action in the panel that has the keys.
pub fn in_panel(model: &mut Model, action: PanelAction) -> Effects {
    let acted = model.panel_mut().map(|panel| {
        let effects = panel.effects(action);
        (panel.act(action), effects)
    });
    let (changed, effects) = acted.unwrap_or_default();
    model.dirty = changed || effects.is_some();
    if action == PanelAction::Mark && !model.dirty {
        return in_panel(model, PanelAction::PageDown);
    }
    // A key that the step's figures do not use goes to the step.
    if action == PanelAction::Select && !model.dirty && model.top_panel().is_none() {
        let course = Arc::clone(&model.course);
        let here = model.open_step(&course)?;
        model.dirty = true;
        return match model.run_at(&here.at) {
            Some(run) if run.phase.is_alive() => model.notify(act::WAIT),
            _ => act::act(model, &here),
        };
    }
    effects
}

/// Closes the overlay, or the figures over a step's text.
pub fn close(model: &mut Model) -> Effects {
    if !model.pop_overlay()
        && let Some(view) = &mut model.step
    {
        view.panel_open = false;
    }
    None
}

pub fn wheel(model: &mut Model, action: PanelAction, lines: usize) -> Effects {
    match (&model.overlay, model.screen) {
        (Some(Overlay::Panel(page)), _) if matches!(page.area(), Area::Page | Area::Welcome) => {
            repeat(model, lines, |model| panel(model, action))
        }
        (Some(Overlay::Panel(_)), _) => panel(model, action),
        (Some(_), _) => None,
        (None, FocusedScreen::Outline) => {
            repeat(model, lines, |model| through_outline(model, action))
        }
        (None, FocusedScreen::Step) if model.has_panel_open() => panel(model, action),
        (None, FocusedScreen::Step) => repeat(model, lines, |model| {
            text(model, action);
            None
        }),
    }
}

fn repeat(model: &mut Model, times: usize, mut act: impl FnMut(&mut Model) -> Effects) -> Effects {
    let mut dirty = false;
    let mut effects = None;
    for _ in 0..times {
        effects = both_effects(effects, act(model));
        dirty |= model.dirty;
    }
    model.dirty = dirty;
    effects
}

pub fn search(model: &mut Model) -> Effects {
    let at = model.step.as_ref().map(|view| view.at.clone());
    let ask = Ask::new(
        at.unwrap_or_else(|| StepRef::new("", "")),
        "Search",
        "In this text. Enter finds; n and N go on and back, esc ends the search.",
        |model, _, text| Ok(to_match(model, Some(text), true)),
    );
    model.push_overlay(Overlay::Ask(ask))
}

/// Asks for a text, and shows only rows of the list that have it.
pub fn filter(model: &mut Model) -> Effects {
    if !filter_list(model, "") {
        return model.notify("There are no rows to filter here.");
    }
    model.push_overlay(Overlay::Ask(Ask::new(
        StepRef::new("", ""),
        "Filter",
        "Only rows with this text stay. Without a text, all do.",
        |model, _, text| {
            filter_list(model, text);
            Ok(None)
        },
    )))
}

fn filter_list(model: &mut Model, text: &str) -> bool {
    // A step keeps its figures while the outline is open.
    let is_outline = model.screen == FocusedScreen::Outline && model.top_panel().is_none();
    if let Some(panel) = model.panel_mut().filter(|_| !is_outline) {
        return panel.filter(text);
    }
    let cursor = &mut model.outline.cursor;
    text.clone_into(&mut cursor.filter);
    cursor.row = 0;
    true
}

/// As in a pager, `n` and `N` move between matches on a page and in a step's text, and `esc` ends the search
/// of a step.
/// Returns `None` if the key does not belong to a search.
pub fn search_key(model: &mut Model, key: Key) -> Option<Effects> {
    let is_page = model
        .top_panel()
        .is_some_and(|panel| panel.area() == Area::Page);
    let is_step = model.overlay.is_none() && is_searching(model);
    match key.code {
        KeyCode::Char('n') if is_page || is_step => Some(to_match(model, None, true)),
        KeyCode::Char('N') if is_page || is_step => Some(to_match(model, None, false)),
        KeyCode::Esc if is_step => {
            if let Some(view) = &mut model.step {
                view.search = None;
            }
            Some(None)
        }
        _ => None,
    }
}

/// Returns whether matches are marked in the step's text.
pub fn is_searching(model: &Model) -> bool {
    let view = model.step.as_ref();
    model.screen == FocusedScreen::Step
        && !model.has_panel_open()
        && view.is_some_and(|view| view.search.is_some())
}

pub fn next_match(model: &mut Model) -> Effects {
    to_match(model, None, true)
}

pub fn previous_match(model: &mut Model) -> Effects {
    to_match(model, None, false)
}

/// Moves to a match of `text`; `None` repeats the last search.
fn to_match(model: &mut Model, text: Option<&str>, forward: bool) -> Effects {
    if let Some(Overlay::Panel(panel)) = &mut model.overlay {
        return match panel.search(text, forward) {
            Some((number, of)) => model.notify(format!("line {number} of {of}")),
            None => model.warn("This is not on the page."),
        };
    }
    if let (Some(text), Some(view)) = (text, &mut model.step) {
        view.search = Some(text.to_string()).filter(|text| !text.is_empty());
    }
    let view = model.step.as_ref();
    let (view, search) = view.and_then(|view| Some((view, view.search.as_ref()?)))?;
    let matches = document(model).matches(search);
    match view.scroll.to_match(&matches, forward) {
        Some((number, of)) => model.notify(format!("line {number} of {of} with \"{search}\"")),
        None => model.warn(format!("\"{search}\" is not in this step's text.")),
    }
}
