//! Text input of the learner.

use std::path::PathBuf;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{profile, profiler, request};
use crate::analysis::Unit;
use crate::lesson::{Answer, Quiz, StepKind};
use crate::tui::{Ask, Effect, Effects, Here, Model, Overlay, Request};
use crate::tutor::say;

pub fn guess(model: &mut Model, here: &Here) -> Effects {
    let unit = match &here.step.kind {
        StepKind::Predict { measure } => unit_word(measure.unit()),
        _ => String::new(),
    };
    model.lay(Overlay::Ask(Ask::new(
        here.at.clone(),
        format!("Your guess, in {unit}"),
        "A number. The first guess counts; any is better than none.",
        |_, at, text| Ok(request(Request::Predict(at, figure(text)?))),
    )))
}

/// The unit of a number, shown to the right of its field.
fn unit_word(unit: Unit) -> String {
    match unit {
        Unit::Milliseconds => "ms".into(),
        Unit::Bytes => "bytes".into(),
        Unit::PerSecond(what) => format!("{what}/s"),
        Unit::Count(what) => what.into(),
        Unit::Nats => "nats".into(),
        Unit::One => "times".into(),
    }
}

pub fn number(model: &mut Model, here: &Here) -> Effects {
    let title = match &here.step.kind {
        StepKind::Quiz(Quiz::Number(number)) if !number.unit.is_empty() => {
            format!("Your answer, in {}", number.unit)
        }
        _ => "Your answer".into(),
    };
    model.lay(Overlay::Ask(Ask::new(
        here.at.clone(),
        title,
        "A number, such as 12.5 or 1e3.",
        |_, at, text| Ok(request(Request::Answer(at, Answer::Number(figure(text)?)))),
    )))
}

pub fn reflection(model: &mut Model, here: &Here) -> Effects {
    let text = model.progress_at(&here.at).reflection.unwrap_or_default();
    let ask = Ask {
        has_lines: true,
        ..Ask::new(
            here.at.clone(),
            "For your report",
            "Esc keeps what you wrote.",
            |_, at, text| Ok(request(Request::Reflect(at, text.into()))),
        )
    };
    model.lay(Overlay::Ask(ask.with(&text)))
}

pub fn profile_command(model: &mut Model, here: &Here) -> Effects {
    let line = model.step.as_ref()?.profile.line()?.shell();
    let ask = Ask::new(
        here.at.clone(),
        "The profiler's command",
        "Enter keeps it; it runs only when you start it.",
        |model, at, text| {
            if !words(text)?.is_empty() {
                profile::edited(model, &at, text);
            }
            Ok(None)
        },
    );
    model.lay(Overlay::Ask(ask.with(&line)))
}

pub fn import(model: &mut Model, here: &Here) -> Effects {
    model.lay(Overlay::Ask(Ask::new(
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

fn figure(text: &str) -> Result<f64, String> {
    say::number(text).ok_or_else(|| format!("`{text}` is not a number; write one like 12.5 or 1e3"))
}

/// Splits a text into words as a shell does.
pub fn words(text: &str) -> Result<Vec<String>, String> {
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
        (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => drop(model.lift()),
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
    model.lift();
    let done = (ask.then)(model, ask.at.clone(), ask.text().trim());
    done.unwrap_or_else(|problem| {
        ask.problem = Some(problem);
        model.lay(Overlay::Ask(ask))
    })
}
