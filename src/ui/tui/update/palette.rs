//! The command palette: finds any command, lesson or page by a part of its name.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use ratatui_textarea::{CursorMove, TextArea};

use super::request::request;
use super::{copy, log, navigate, play, references};
use crate::tui::{
    Area, ChoiceList, Effect, Effects, HandOver, Model, Overlay, PageEntry, PageText, Palette,
    SessionRequest, Snippet, TextPage,
};
use tinyllama_session::StepRef;
use tinyllama_tutor_core::{Action, PanelAction};

/// An entry that the learner can choose.
pub struct PaletteEntry {
    pub label: String,
    /// The key that does the same without the palette; empty if there is none.
    pub key: String,
    /// The text that it copies, if several entries can be copied together.
    pub copied: Option<Snippet>,
    pub(super) choose: PaletteAction,
}

type PaletteAction = Box<dyn Fn(&mut Model) -> Effects>;

impl PaletteEntry {
    pub fn new(label: String, choose: impl Fn(&mut Model) -> Effects + 'static) -> Self {
        Self {
            label,
            key: String::new(),
            copied: None,
            choose: Box::new(choose),
        }
    }
}

pub fn find(model: &mut Model) -> Effects {
    model.open_list(ChoiceList::Everything)
}

/// Lets the learner choose a path.
pub fn paths(model: &mut Model) -> Effects {
    model.open_list(ChoiceList::Paths)
}

fn path_entries(model: &Model) -> Vec<PaletteEntry> {
    let paths = model.course.paths_in_text().into_iter();
    let entries = paths.map(|(name, text)| {
        let path = model.course.path(name).ok().flatten().cloned();
        PaletteEntry::new(format!("{name}: {text}"), move |model| {
            model.notify(format!("Your path is now: {text}."));
            request(SessionRequest::TakePath(path.clone()))
        })
    });
    entries.collect()
}

/// The entries that match the query, best first. An empty query matches all.
pub fn entries(model: &Model, palette: &Palette) -> Vec<PaletteEntry> {
    let query = &palette.text();
    let all = match &palette.list {
        ChoiceList::Everything => all_entries(model),
        ChoiceList::Pages(pages) => pages.iter().cloned().map(page).collect(),
        ChoiceList::Paths => path_entries(model),
        ChoiceList::Copies(copies) => copies.iter().cloned().map(to_copy).collect(),
        ChoiceList::Commands => log::entries(model),
        ChoiceList::Command(at) => log::choices(model, *at),
    };
    let mut scored: Vec<(usize, PaletteEntry)> = all
        .into_iter()
        .filter_map(|entry| Some((1 + score(&entry.label, query)?, entry)))
        .collect();
    if matches!(palette.list, ChoiceList::Everything) {
        scored.extend(command(model, query));
    }
    // The sort is stable: entries of equal score stay in the order of the help page and the course.
    scored.sort_by_key(|(score, _)| *score);
    scored.into_iter().map(|(_, entry)| entry).collect()
}

/// The text as a command of this program. With arguments it comes first, because no other entry is meant then.
fn command(model: &Model, query: &str) -> Option<(usize, PaletteEntry)> {
    let line = query.trim().trim_start_matches("tinyllama-tutor ");
    let argv = shlex::split(line)?;
    let is_known = model.program_commands.contains(argv.first()?);
    let score = if argv.len() > 1 { 0 } else { usize::MAX };
    let run = move |_: &mut Model| Some(vec![Effect::HandOver(HandOver::Command(argv.clone()))]);
    let entry = PaletteEntry::new(format!("tinyllama-tutor {line}"), run);
    is_known.then_some((score, entry))
}

fn all_entries(model: &Model) -> Vec<PaletteEntry> {
    let areas = model.areas();
    // The order of the help page; actions that apply everywhere come first.
    let areas = areas
        .iter()
        .rev()
        .filter(|area| !matches!(area, Area::Page | Area::Welcome));
    let bindings = areas.flat_map(|area| model.keys.bindings_in(*area));
    let actions = bindings.filter(|it| !is_skippable(it.action)).map(|it| {
        let (area, action) = (it.area, it.action);
        let choose = move |model: &mut Model| model.carry_out(area, action);
        PaletteEntry {
            key: model.keys.shown(area, action),
            ..PaletteEntry::new(it.does.to_string(), choose)
        }
    });
    let lessons = model.course.lessons().map(|lesson| {
        let id = lesson.id.clone();
        let label = format!("lesson: {} ({id})", lesson.title);
        PaletteEntry::new(label, move |model| navigate::open_lesson(model, &id))
    });
    let steps = model.course.steps().map(|(lesson, step)| {
        let at = StepRef::new(&lesson.id, &step.id);
        let label = format!("step: {} in {}", step.title, lesson.title);
        PaletteEntry::new(label, move |model| navigate::open(model, at.clone()))
    });
    let words = references::glossary(&model.course).into_iter().map(|word| {
        let entry = page(word);
        PaletteEntry {
            label: format!("word: {}", entry.label),
            ..entry
        }
    });
    let pages = model.course.reference.iter().map(|(name, text)| {
        // Texts name a page by its heading.
        let heading = text.lines().next().and_then(|line| line.strip_prefix("# "));
        let name = heading.unwrap_or(name).to_string();
        let text = text.clone();
        let entry = page(PageEntry { name, text });
        PaletteEntry {
            label: format!("page: {}", entry.label),
            ..entry
        }
    });
    let all = actions.chain(lessons).chain(pages);
    let all = all.chain(recordings(model)).chain(words);
    all.chain(steps).collect()
}

/// Opens a page.
fn page(shelved: PageEntry) -> PaletteEntry {
    PaletteEntry::new(shelved.name.clone(), move |model| {
        let PageEntry { name, text } = shelved.clone();
        model.open(TextPage::new(name, PageText::Markdown(text)))
    })
}

fn to_copy(copied: Snippet) -> PaletteEntry {
    let label = format!("{}: {}", copied.name, copied.text.replace('\n', " "));
    PaletteEntry {
        copied: Some(copied.clone()),
        ..PaletteEntry::new(label, move |model| copy::take(model, copied.clone()))
    }
}

/// Keys are easier for moving by lines.
fn is_skippable(action: Action) -> bool {
    use PanelAction::{Down, Left, Right, Up};
    matches!(action, Action::Move(Up | Down | Left | Right))
}

/// Recordings of the target that the open step runs.
fn recordings(model: &Model) -> Vec<PaletteEntry> {
    let here = model.open_step(&model.course);
    let run = here.filter(|here| here.step.as_run().is_some());
    let Some(target) = run.and_then(|here| here.step.target.as_deref()) else {
        return Vec::new();
    };
    let entries = model.recordings.of_target(target).map(|recording| {
        let (id, config) = (recording.id.clone(), &recording.config);
        let target = &recording.target;
        let label = format!("play {id}: {target} {config}, {}", recording.label());
        PaletteEntry::new(label, move |model| play::chosen(model, &id))
    });
    entries.collect()
}

/// How well `text` has the words of the query: whole words are best, then beginnings of words, then other parts. Lower is
/// better. `None` if a word of the query is nowhere.
fn score(text: &str, query: &str) -> Option<usize> {
    let text = text.to_lowercase();
    let is_letter = |c: char| c.is_alphanumeric();
    let rank = |wanted: &str| {
        let ranks = text.match_indices(wanted).map(|(at, _)| {
            let begins = !text[..at].ends_with(is_letter);
            let ends = !text[at + wanted.len()..].starts_with(is_letter);
            match (begins, ends) {
                (true, true) => 0,
                (true, false) => 1,
                _ => 2,
            }
        });
        ranks.min()
    };
    let query = query.to_lowercase();
    query.split_whitespace().map(rank).sum()
}

pub fn key(model: &mut Model, event: KeyEvent) -> Effects {
    let Some(Overlay::Palette(mut palette)) = model.overlay.take() else {
        return None;
    };
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let motion = match (event.code, control) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => {
            model.pop_overlay();
            return None;
        }
        (KeyCode::Char(' '), false) if palette.list.takes_marks() => {
            let mut entries = entries(model, &palette).into_iter();
            if let Some(copied) = entries.nth(palette.cursor.row).and_then(|it| it.copied) {
                match palette.marked.iter().position(|it| *it == copied) {
                    Some(at) => drop(palette.marked.remove(at)),
                    None => palette.marked.push(copied),
                }
            }
            PanelAction::Down
        }
        (KeyCode::Enter, _) if !palette.marked.is_empty() => {
            model.pop_overlay();
            return copy::take(model, copy::together(palette.marked));
        }
        (KeyCode::Enter, _) => {
            let entries = entries(model, &palette);
            let Some(entry) = entries.into_iter().nth(palette.cursor.row) else {
                // No entry matches; the learner can change the query.
                return model.push_overlay(Overlay::Palette(palette));
            };
            model.pop_overlay();
            let text = palette.text();
            if matches!(palette.list, ChoiceList::Everything) && !text.is_empty() {
                model.palette_history.retain(|known| *known != text);
                model.palette_history.push(text);
            }
            return (entry.choose)(model);
        }
        // No entry begins with a question mark.
        (KeyCode::Char('?'), false) if palette.text().is_empty() => {
            model.notify(palette.list.help());
            return model.push_overlay(Overlay::Palette(palette));
        }
        (KeyCode::Char('u'), true) => {
            palette.query.delete_line_by_head();
            PanelAction::Top
        }
        // Above the first entry lies the history, as in a shell.
        (KeyCode::Up, _) | (KeyCode::Char('p'), true)
            if palette.cursor.row == 0 && matches!(palette.list, ChoiceList::Everything) =>
        {
            let mut texts = model.palette_history.iter().rev();
            if let Some(text) = texts.nth(palette.recalled) {
                palette.recalled += 1;
                palette.query = TextArea::from([text]);
                palette.query.move_cursor(CursorMove::End);
            }
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
    model.push_overlay(Overlay::Palette(palette))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_come_first_and_scattered_letters_are_no_match() {
        assert_eq!(score("lesson: Kernels in production", "skip"), None);
        assert_eq!(score("skip with a note", "skip"), Some(0));
        assert_eq!(score("Four cases nobody has seen", "fused"), None);
        assert!(score("bank conflicts", "bank") < score("banks", "bank"));
        assert!(score("change flags", "flag") < score("the unflagged", "flag"));
        assert_eq!(score("lesson: The baseline", "lesson base"), Some(1));
        assert_eq!(score("anything", ""), Some(0));
    }
}
