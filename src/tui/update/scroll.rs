//! Moving through what is longer than the screen.

use crate::tui::message::Effect;
use crate::tui::model::overlay::Overlay;
use crate::tui::model::{Model, Screen};
use crate::tui::panel::{Panel, PanelAction};
use crate::tui::view::{document, page_lines, text_area};

pub fn lines(model: &mut Model, by: isize) -> Vec<Effect> {
    let last = last_start(model);
    if let Some(view) = &mut model.step {
        let before = view.scroll;
        view.scroll = view.scroll.saturating_add_signed(by).min(last);
        model.dirty = before != view.scroll;
    }
    Vec::new()
}

pub fn pages(model: &mut Model, by: isize) -> Vec<Effect> {
    // Two lines of the page before stay in view.
    let height = isize::try_from(text_area(model).height).unwrap_or(1);
    lines(model, by * (height - 2).max(1))
}

pub fn to(model: &mut Model, line: usize) -> Vec<Effect> {
    let last = last_start(model);
    if let Some(view) = &mut model.step {
        view.scroll = line.min(last);
    }
    Vec::new()
}

/// After the text or the screen changed.
pub fn clamp(model: &mut Model) {
    let last = last_start(model);
    if let Some(view) = &mut model.step {
        view.scroll = view.scroll.min(last);
    }
}

/// The last line that can be the first on the screen.
fn last_start(model: &Model) -> usize {
    let height = usize::from(text_area(model).height);
    document(model).lines.len().saturating_sub(height)
}

/// Brings a part of the text into view: the choice under the cursor, or what was just added.
pub fn to_choice(model: &mut Model) {
    let document = document(model);
    if let Some((from, to)) = document.choice {
        show(model, from, to);
    }
}

/// Brings what was added at the end into view: its beginning before its end.
pub fn to_news(model: &mut Model) {
    let document = document(model);
    if let Some(from) = document.news {
        let to = document.lines.len();
        show(model, from, to);
    }
}

fn show(model: &mut Model, from: usize, to: usize) {
    let height = usize::from(text_area(model).height);
    let last = last_start(model);
    if let Some(view) = &mut model.step {
        if to > view.scroll + height {
            view.scroll = to.saturating_sub(height);
        }
        if from < view.scroll {
            view.scroll = from;
        }
        view.scroll = view.scroll.min(last);
    }
}

pub fn to_match(model: &mut Model, forward: bool) -> Vec<Effect> {
    let Some(view) = &model.step else {
        return Vec::new();
    };
    let Some(search) = view.search.clone() else {
        return Vec::new();
    };
    let matches = document(model).matches(&search);
    let at = view.scroll;
    let found = if forward {
        matches.iter().find(|line| **line > at).or(matches.first())
    } else {
        matches
            .iter()
            .rev()
            .find(|line| **line < at)
            .or(matches.last())
    };
    match found {
        Some(line) => {
            let line = *line;
            let index = matches.iter().position(|other| *other == line).unwrap_or(0);
            model.tell(format!(
                "line {} of {} with \"{search}\"",
                index + 1,
                matches.len()
            ));
            to(model, line)
        }
        None => {
            model.warn(format!("\"{search}\" is not in this step's text."));
            Vec::new()
        }
    }
}

pub fn panel(model: &mut Model, action: PanelAction) -> Vec<Effect> {
    model.dirty = with_panel(model, |panel| panel.act(action)).unwrap_or(false);
    Vec::new()
}

/// The panel that is open, if one is.
pub fn with_panel<T>(model: &mut Model, act: impl FnOnce(&mut dyn Panel) -> T) -> Option<T> {
    if let Some(Overlay::Figures(figures)) = &mut model.overlay {
        return Some(act(figures.panel_mut()));
    }
    let view = model.step.as_mut().filter(|view| view.panel_open)?;
    if let Some(panel) = &mut view.compare {
        return Some(act(panel));
    }
    if let Some(panel) = &mut view.profile.panel {
        return Some(act(panel));
    }
    let at = view.at.clone();
    let run = model.runs.iter_mut().rev().find(|run| run.at == at)?;
    Some(act(&mut run.view))
}

pub fn page(model: &mut Model, by: isize) -> Vec<Effect> {
    let (lines, height) = page_lines(model);
    if let Some(Overlay::Page(page)) = &mut model.overlay {
        let last = lines.saturating_sub(height);
        page.scroll = page.scroll.saturating_add_signed(by).min(last);
    }
    Vec::new()
}

pub fn wheel(model: &mut Model, by: i16) -> Vec<Effect> {
    let by = isize::from(by);
    match (&model.overlay, model.screen) {
        (Some(Overlay::Page(_)), _) => page(model, by),
        (Some(Overlay::Figures(_)), _) => {
            let action = if by < 0 {
                PanelAction::Up
            } else {
                PanelAction::Down
            };
            panel(model, action)
        }
        (Some(_), _) => Vec::new(),
        (None, Screen::Outline) => super::navigate::cursor(model, by),
        (None, Screen::Step) if model.step.as_ref().is_some_and(|view| view.panel_open) => {
            let action = if by < 0 {
                PanelAction::Up
            } else {
                PanelAction::Down
            };
            panel(model, action)
        }
        (None, Screen::Step) => lines(model, by),
    }
}
