//! The command palette: any command, lesson or page by a part of its name.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{keys, navigate, play};
use crate::lesson::StepKind;
use crate::tui::keys::{ACTIONS, Action, Area};
use crate::tui::message::Effect;
use crate::tui::model::Model;
use crate::tui::model::overlay::{Overlay, PageContent, Palette};

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub label: String,
    pub chosen: Chosen,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    Action(Action),
    Lesson(String),
    Reference(String),
    Recording(String),
}

pub fn open(model: &mut Model) -> Vec<Effect> {
    model.overlay = Some(Overlay::Palette(Palette::default()));
    Vec::new()
}

/// What matches the query, best first; everything where nothing was typed.
pub fn entries(model: &Model, query: &str) -> Vec<Entry> {
    let mut scored: Vec<(usize, Entry)> = all(model)
        .into_iter()
        .filter_map(|entry| Some((score(&entry.label, query)?, entry)))
        .collect();
    // A stable sort: equals stay in the order of the help page and the course.
    scored.sort_by_key(|(score, _)| *score);
    scored.into_iter().map(|(_, entry)| entry).collect()
}

fn all(model: &Model) -> Vec<Entry> {
    let areas = keys::areas(model);
    let is_movement = |action: Action| {
        ACTIONS
            .iter()
            .filter(|spec| spec.action == action)
            .any(|spec| {
                matches!(spec.name, "up" | "down" | "left" | "right") || spec.area == Area::Page
            })
    };
    let actions = ACTIONS
        .iter()
        .filter(|spec| areas.contains(&spec.area) && !is_movement(spec.action))
        .map(|spec| Entry {
            label: spec.does.to_string(),
            chosen: Chosen::Action(spec.action),
        });
    let lessons = model.course.lessons().map(|lesson| Entry {
        label: format!("lesson: {}", lesson.title),
        chosen: Chosen::Lesson(lesson.id.clone()),
    });
    let pages = model.course.reference.keys().map(|name| Entry {
        label: format!("page: {}", name.trim_end_matches(".md")),
        chosen: Chosen::Reference(name.clone()),
    });
    actions
        .chain(lessons)
        .chain(pages)
        .chain(recordings(model))
        .collect()
}

/// Those of the target that the open step runs.
fn recordings(model: &Model) -> Vec<Entry> {
    let target = match model.current().map(|(_, step, _)| &step.kind) {
        Some(StepKind::Run { target, .. }) => target,
        _ => return Vec::new(),
    };
    let entries = model.recordings.of_target(target).map(|recording| Entry {
        label: format!(
            "play {}: {} {}, {}",
            recording.id,
            recording.target,
            recording.config,
            recording.label()
        ),
        chosen: Chosen::Recording(recording.id.clone()),
    });
    entries.collect()
}

/// How far apart the query's letters stand in `text`, which must have all of them in order; lower is better.
fn score(text: &str, query: &str) -> Option<usize> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let mut from = 0;
    let mut first = None;
    for wanted in query.to_lowercase().chars().filter(|c| !c.is_whitespace()) {
        let found = text.iter().skip(from).position(|c| *c == wanted)?;
        first.get_or_insert(from + found);
        from += found + 1;
    }
    let first = first.unwrap_or(0);
    let starts_word = first == 0 || text.get(first - 1) == Some(&' ');
    Some(from - first + usize::from(!starts_word))
}

pub fn key(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Palette(palette)) = &mut model.overlay else {
        return Vec::new();
    };
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Esc => model.overlay = None,
        KeyCode::Char('c') if control => model.overlay = None,
        KeyCode::Enter => return choose(model),
        KeyCode::Up => palette.cursor = palette.cursor.saturating_sub(1),
        KeyCode::Char('p') if control => palette.cursor = palette.cursor.saturating_sub(1),
        KeyCode::Down => palette.cursor += 1,
        KeyCode::Char('n') if control => palette.cursor += 1,
        _ => {
            palette.query.input(Event::Key(event));
            palette.cursor = 0;
        }
    }
    clamp(model);
    Vec::new()
}

fn clamp(model: &mut Model) {
    let Some(Overlay::Palette(palette)) = &model.overlay else {
        return;
    };
    let last = entries(model, &palette.text()).len().saturating_sub(1);
    if let Some(Overlay::Palette(palette)) = &mut model.overlay {
        palette.cursor = palette.cursor.min(last);
    }
}

fn choose(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Palette(palette)) = &model.overlay else {
        return Vec::new();
    };
    let chosen = entries(model, &palette.text())
        .into_iter()
        .nth(palette.cursor);
    model.overlay = None;
    match chosen.map(|entry| entry.chosen) {
        Some(Chosen::Action(action)) => keys::act(model, action),
        Some(Chosen::Lesson(id)) => navigate::open_lesson(model, &id),
        Some(Chosen::Reference(name)) => {
            let text = model.course.reference.get(&name).cloned();
            let title = name.trim_end_matches(".md").to_string();
            keys::page(
                model,
                title,
                PageContent::Markdown(text.unwrap_or_default()),
            )
        }
        Some(Chosen::Recording(id)) => play::chosen(model, &id),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_stand_together_at_the_start_of_a_word_come_first() {
        assert_eq!(score("lesson: The baseline", "xyz"), None);
        let exact = score("lesson: The baseline", "base").unwrap();
        let scattered = score("lesson: Both a sound idea", "base");
        assert!(scattered.is_none_or(|score| score > exact));
        assert!(score("change flags", "flag") < score("lesson: finding a large gap", "flag"));
        assert_eq!(score("anything", ""), Some(0));
    }
}
