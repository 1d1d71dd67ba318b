//! Text the learner types.

use std::path::PathBuf;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{runs, scroll};
use crate::analysis::Unit;
use crate::lesson::quiz::Answer;
use crate::session::event::StepRef;
use crate::tui::message::{Effect, Request};
use crate::tui::model::Model;
use crate::tui::model::overlay::{Ask, Overlay, Question};
use crate::tutor::say;

pub fn open(model: &mut Model, question: Question, text: &str) -> Vec<Effect> {
    model.overlay = Some(Overlay::Ask(Ask::new(question, text)));
    Vec::new()
}

/// The unit a number is typed in, behind its field.
pub fn unit_word(unit: Unit) -> String {
    match unit {
        Unit::Milliseconds => "ms".into(),
        Unit::Bytes => "bytes".into(),
        Unit::PerSecond(what) => format!("{what}/s"),
        Unit::Count(what) => what.into(),
        Unit::Nats => "nats".into(),
        Unit::One => "times".into(),
    }
}

pub fn key(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Ask(ask)) = &mut model.overlay else {
        return Vec::new();
    };
    let lines = ask.question.has_lines();
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        // What was written is kept: a reflection is not lost by leaving it.
        KeyCode::Esc if lines => submit(model),
        KeyCode::Esc => {
            model.overlay = None;
            Vec::new()
        }
        KeyCode::Char('c') if control => {
            model.overlay = None;
            Vec::new()
        }
        KeyCode::Char('s') if control && lines => submit(model),
        KeyCode::Enter if !lines => submit(model),
        KeyCode::Char('m' | 'j') if control && !lines => submit(model),
        KeyCode::Char('z') if control => vec![Effect::Suspend],
        _ => {
            ask.problem = None;
            ask.input.input(Event::Key(event));
            Vec::new()
        }
    }
}

pub fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    match &mut model.overlay {
        Some(Overlay::Ask(ask)) => {
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            if ask.question.has_lines() {
                ask.input.insert_str(text);
            } else {
                // A line break in a one-line field would be sent off half read.
                ask.input
                    .insert_str(text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
        Some(Overlay::Palette(palette)) => {
            palette
                .query
                .insert_str(text.lines().next().unwrap_or_default());
        }
        _ => model.dirty = false,
    }
    Vec::new()
}

fn submit(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Ask(ask)) = &mut model.overlay else {
        return Vec::new();
    };
    let text = ask.text();
    match answer(&ask.question, text.trim()) {
        Err(problem) => {
            ask.problem = Some(problem);
            Vec::new()
        }
        Ok(done) => {
            model.overlay = None;
            carry_out(model, done)
        }
    }
}

/// A question's answer, understood.
enum Done {
    Ask(Request),
    Flags(StepRef, Vec<String>),
    Search(String),
    Command(StepRef, String),
    Import(StepRef, PathBuf),
    Nothing,
}

fn answer(question: &Question, text: &str) -> Result<Done, String> {
    let number = |text: &str| {
        say::number(text)
            .ok_or_else(|| format!("`{text}` is no number; write one like 12.5 or 1e3"))
    };
    Ok(match question {
        Question::Guess(at, _) => Done::Ask(Request::Predict(at.clone(), number(text)?)),
        Question::Number(at, _) => {
            Done::Ask(Request::Answer(at.clone(), Answer::Number(number(text)?)))
        }
        Question::Flags(at) => match shlex::split(text) {
            Some(flags) => Done::Flags(at.clone(), flags),
            None => return Err("a quotation mark is not closed".into()),
        },
        Question::Skip(at) => Done::Ask(Request::Skip(at.clone(), text.into())),
        Question::Search => Done::Search(text.into()),
        Question::Reflection(at) => Done::Ask(Request::Reflect(at.clone(), text.into())),
        Question::ProfileCommand(at) => match shlex::split(text) {
            Some(words) if !words.is_empty() => Done::Command(at.clone(), text.into()),
            Some(_) => Done::Nothing,
            None => return Err("a quotation mark is not closed".into()),
        },
        Question::Import(_) if text.is_empty() => Done::Nothing,
        Question::Import(at) => Done::Import(at.clone(), expand(text)),
    })
}

/// `~/x` as the shell has it.
fn expand(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), etcetera::home_dir()) {
        (Some(rest), Ok(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

fn carry_out(model: &mut Model, done: Done) -> Vec<Effect> {
    match done {
        Done::Ask(request) => {
            vec![Effect::Session(request)]
        }
        Done::Flags(at, flags) => {
            if let Some(view) = model.step.as_mut().filter(|view| view.at == at) {
                view.flags = Some(flags);
            }
            runs::start(model, at)
        }
        Done::Search(text) => {
            if let Some(view) = &mut model.step {
                view.search = Some(text).filter(|text| !text.is_empty());
            }
            scroll::to_match(model, true)
        }
        Done::Command(at, line) => {
            super::profile::edited(model, &at, &line);
            Vec::new()
        }
        Done::Import(at, path) => {
            model.tell("Reading the profile…");
            let target = super::profile::target(model, &at);
            vec![Effect::ImportProfile { at, target, path }]
        }
        Done::Nothing => Vec::new(),
    }
}

/// `$EDITOR` was closed.
pub fn edited(model: &mut Model, at: StepRef, result: Result<String, String>) -> Vec<Effect> {
    match result {
        Ok(text) => vec![Effect::Session(Request::Reflect(at, text))],
        Err(problem) => {
            model.warn(problem);
            Vec::new()
        }
    }
}
