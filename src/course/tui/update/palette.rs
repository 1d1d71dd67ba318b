//! The command palette: finds any command, lesson or page by a part of its name.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{copy, keys, navigate, play};
use crate::lesson::StepKind;
use crate::tui::actions::carry_out;
use crate::tui::{
    Action, Area, Effects, List, Model, Overlay, Page, Palette, PanelAction, Shelved, Snippet, Text,
};

/// An entry that the learner can choose.
pub struct Entry {
    pub label: String,
    /// The key that does the same without the palette; empty if there is none.
    pub key: String,
    choose: Choose,
}

type Choose = Box<dyn Fn(&mut Model) -> Effects>;

impl Entry {
    fn new(label: String, choose: impl Fn(&mut Model) -> Effects + 'static) -> Self {
        Self {
            label,
            key: String::new(),
            choose: Box::new(choose),
        }
    }
}

pub fn find(model: &mut Model) -> Effects {
    model.lay(Overlay::Palette(Palette::default()))
}

/// The entries that match the query, best first. An empty query matches all.
pub fn entries(model: &Model, palette: &Palette) -> Vec<Entry> {
    let query = &palette.text();
    let all = match &palette.list {
        List::Everything => all(model),
        List::Pages(pages) => pages.iter().cloned().map(page).collect(),
        List::Copies(copies) => copies.iter().cloned().map(to_copy).collect(),
    };
    let mut scored: Vec<(usize, Entry)> = all
        .into_iter()
        .filter_map(|entry| Some((score(&entry.label, query)?, entry)))
        .collect();
    // The sort is stable: entries of equal score stay in the order of the help page and the course.
    scored.sort_by_key(|(score, _)| *score);
    scored.into_iter().map(|(_, entry)| entry).collect()
}

fn all(model: &Model) -> Vec<Entry> {
    let areas = keys::areas(model);
    // The order of the help page; actions that apply everywhere come first.
    let areas = areas
        .iter()
        .rev()
        .filter(|area| !matches!(area, Area::Page | Area::Welcome));
    let bindings = areas.flat_map(|area| model.keys.of(*area));
    let actions = bindings.filter(|it| !is_step_aside(it.action)).map(|it| {
        let (area, action) = (it.area, it.action);
        let choose = move |model: &mut Model| carry_out(model, area, action);
        Entry {
            key: model.keys.shown(area, action),
            ..Entry::new(it.does.to_string(), choose)
        }
    });
    let lessons = model.course.lessons().map(|lesson| {
        let id = lesson.id.clone();
        Entry::new(format!("lesson: {}", lesson.title), move |model| {
            navigate::open_lesson(model, &id)
        })
    });
    let pages = model.course.reference.iter().map(|(name, text)| {
        let (name, text) = (name.trim_end_matches(".md").to_string(), text.clone());
        let entry = page(Shelved { name, text });
        Entry {
            label: format!("page: {}", entry.label),
            ..entry
        }
    });
    let all = actions.chain(lessons).chain(pages);
    all.chain(recordings(model)).collect()
}

/// Opens a page.
fn page(shelved: Shelved) -> Entry {
    Entry::new(shelved.name.clone(), move |model| {
        let Shelved { name, text } = shelved.clone();
        model.open(Page::new(name, Text::Markdown(text)))
    })
}

fn to_copy(copied: Snippet) -> Entry {
    let label = format!("{}: {}", copied.name, copied.text.replace('\n', " "));
    Entry::new(label, move |model| copy::take(model, copied.clone()))
}

/// Keys are easier for moving by lines.
fn is_step_aside(action: Action) -> bool {
    use PanelAction::{Down, Left, Right, Up};
    matches!(action, Action::Move(Up | Down | Left | Right))
}

/// Recordings of the target that the open step runs.
fn recordings(model: &Model) -> Vec<Entry> {
    let here = model.here(&model.course);
    let Some(StepKind::Run { target, .. }) = here.map(|here| &here.step.kind) else {
        return Vec::new();
    };
    let entries = model.recordings.of_target(target).map(|recording| {
        let (id, config) = (recording.id.clone(), &recording.config);
        let target = &recording.target;
        let label = format!("play {id}: {target} {config}, {}", recording.label());
        Entry::new(label, move |model| play::chosen(model, &id))
    });
    entries.collect()
}

/// Distance between the query's letters in `text`, which must contain them in order. Lower is better.
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

pub fn key(model: &mut Model, event: KeyEvent) -> Effects {
    let Some(Overlay::Palette(mut palette)) = model.overlay.take() else {
        return None;
    };
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let motion = match (event.code, control) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => {
            model.lift();
            return None;
        }
        (KeyCode::Enter, _) => {
            let entries = entries(model, &palette);
            let Some(entry) = entries.into_iter().nth(palette.cursor.row) else {
                // No entry matches; the learner can change the query.
                return model.lay(Overlay::Palette(palette));
            };
            model.lift();
            return (entry.choose)(model);
        }
        (KeyCode::Char('u'), true) => {
            palette.query.delete_line_by_head();
            PanelAction::Top
        }
        (KeyCode::Up, _) | (KeyCode::Char('p'), true) => PanelAction::Up,
        (KeyCode::Down, _) | (KeyCode::Char('n'), true) => PanelAction::Down,
        _ => {
            palette.query.input(Event::Key(event));
            PanelAction::Top
        }
    };
    let found = entries(model, &palette).len();
    palette.cursor.act(motion, found, 0);
    model.lay(Overlay::Palette(palette))
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
