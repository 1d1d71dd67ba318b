//! Text input of the learner.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{profile, profiler, recall};
use crate::tui::{Ask, Effect, Effects, FocusedScreen, Model, OpenStep, Overlay};
use tinyllama_tutor_core::behavior;
use tinyllama_tutor_core::document::PrimaryAction;

/// Asks for the line, or the lines, that the step waits for.
pub fn question(model: &mut Model, here: &OpenStep) -> Effects {
    let PrimaryAction::Ask(question) = model.context(here)?.document().1 else {
        return None;
    };
    let ask = Ask {
        has_lines: question.text.is_some(),
        ..Ask::new(
            here.at.clone(),
            question.title,
            question.explain,
            |model, at, text| {
                let Some(step) = model.course.step(&at.lesson, &at.step) else {
                    return Ok(None);
                };
                let given = behavior(step).parse(text)?;
                Ok(recall::give(model, at, given))
            },
        )
    };
    model.push_overlay(Overlay::Ask(
        ask.with_text(&question.text.unwrap_or_default()),
    ))
}

/// Opens the line of a step that asks for a number. False if the step asks for none, or for text.
pub fn open_for_number(model: &mut Model) -> bool {
    let course = Arc::clone(&model.course);
    let is_open = model.overlay.is_none() && !model.has_panel_open();
    let here = model
        .open_step(&course)
        .filter(|_| is_open && model.screen == FocusedScreen::Step);
    let Some(here) = here else {
        return false;
    };
    let asks = model.context(&here).map(|context| context.document().1);
    let asks = matches!(asks, Some(PrimaryAction::Ask(question)) if question.text.is_none());
    asks && {
        question(model, &here);
        true
    }
}

pub fn profile_command(model: &mut Model, here: &OpenStep) -> Effects {
    let line = model.step.as_ref()?.profile.line()?.shell();
    let ask = Ask::new(
        here.at.clone(),
        "The profiler's command",
        "Enter keeps it; it runs only when you start it.",
        |model, at, text| {
            if !split_arguments(text)?.is_empty() {
                profile::edited(model, &at, text);
            }
            Ok(None)
        },
    );
    model.push_overlay(Overlay::Ask(ask.with_text(&line)))
}

pub fn import(model: &mut Model, here: &OpenStep) -> Effects {
    model.push_overlay(Overlay::Ask(Ask::new(
        here.at.clone(),
        "Import a profile",
        "A file or folder that a profiler wrote.",
        |model, at, text| {
            if text.is_empty() {
                return Ok(None);
            }
            let target = profile::target(model, &at);
            Ok(Some(vec![profiler::read(at, target, expand(text))]))
        },
    )))
}

/// Splits a text into words as a shell does.
pub fn split_arguments(text: &str) -> Result<Vec<String>, String> {
    shlex::split(text).ok_or_else(|| "a quotation mark is not closed".into())
}

/// Replaces `~/` by the home folder, as a shell does.
fn expand(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), etcetera::home_dir()) {
        (Some(rest), Ok(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

pub fn key(model: &mut Model, event: KeyEvent) -> Effects {
    let Some(Overlay::Ask(ask)) = &mut model.overlay else {
        return None;
    };
    let lines = ask.has_lines;
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    match (event.code, control) {
        // Leaving a reflection keeps its text.
        (KeyCode::Esc, _) | (KeyCode::Char('s'), true) if lines => return submit(model),
        (KeyCode::Enter, _) | (KeyCode::Char('m' | 'j'), true) if !lines => return submit(model),
        (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => drop(model.pop_overlay()),
        // Ctrl-U deletes as in a shell; the editor's own binding would undo.
        (KeyCode::Char('u'), true) => drop(ask.input.delete_line_by_head()),
        (KeyCode::Char('z'), true) => return Some(vec![Effect::Suspend]),
        _ => {
            ask.problem = None;
            ask.input.input(Event::Key(event));
        }
    }
    None
}

pub fn paste(model: &mut Model, text: &str) -> Effects {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        open_for_number(model);
    }
    match &mut model.overlay {
        Some(Overlay::Ask(ask)) => {
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            // A line break in a one-line field would submit half the text.
            let text = match ask.has_lines {
                true => text,
                false => text.split_whitespace().collect::<Vec<_>>().join(" "),
            };
            ask.input.insert_str(text);
        }
        Some(Overlay::Palette(palette)) => {
            let line = text.lines().next().unwrap_or_default();
            palette.query.insert_str(line);
        }
        _ => model.dirty = false,
    }
    None
}

fn submit(model: &mut Model) -> Effects {
    let Some(Overlay::Ask(mut ask)) = model.overlay.take() else {
        return None;
    };
    model.pop_overlay();
    let done = (ask.then)(model, ask.at.clone(), ask.text().trim());
    done.unwrap_or_else(|problem| {
        ask.problem = Some(problem);
        model.push_overlay(Overlay::Ask(ask))
    })
}
