//! Handles messages: changes the model and returns effects, with no other side effects.

pub mod act;
mod ask;
pub mod copy;
pub mod kernel;
mod keys;
pub mod log;
pub mod navigate;
pub mod palette;
pub mod play;
pub mod primary;
pub mod profile;
pub mod profiler;
pub mod recall;
pub mod references;
mod reply;
mod request;
pub mod runs;
pub mod scroll;
#[cfg(test)]
mod tests;
pub mod welcome;

use crossterm::event::{Event, MouseEventKind};

pub use self::request::note_time;
use self::request::request;
use super::model::log::LoggedKind;
use crate::tui::panels::doctor;
use crate::tui::{Effect, Effects, Message, Model, Overlay, SessionRequest, both_effects};
use tinyllama_tutor_core::PanelAction;
use tinyllama_tutor_core::document::Given;

/// Lines per turn of the wheel.
const WHEEL: usize = 3;

/// Handles one message and returns the effects.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    model.dirty = true;
    let may_turn = matches!(message, Message::Input(_) | Message::Session(_));
    let mut effects = on_message(model, message).unwrap_or_default();
    if may_turn {
        effects.extend(navigate::read_to_its_end(model));
    }
    model.log_effects(&effects);
    for effect in &effects {
        if let Effect::Work(work) = effect
            && !work.meanwhile.is_empty()
        {
            model.notify(work.meanwhile);
        }
    }
    effects
}

fn on_message(model: &mut Model, message: Message) -> Effects {
    match message {
        Message::Input(event) => input(model, event),
        Message::Session(answer) => reply::reply(model, *answer),
        Message::Run(id, update) => runs::on_run_update(model, id, update),
        Message::RunEnded { id, run, ending } => {
            let is_it =
                |kind: &LoggedKind| matches!(kind, LoggedKind::Run { id: it, .. } if *it == id);
            model.log_end(ending.reason(None), is_it);
            runs::ended(model, id, run, ending)
        }
        Message::RunRead(read) => runs::read(model, *read),
        Message::Profile(at, message) => profile::message(model, &at, message),
        Message::Kernel(at, tried) => kernel::tried(model, &at, tried),
        Message::KernelProgress(at, progress) => kernel::progress(model, &at, progress),
        Message::Occupancy(answer) => model.occupancy_panel_mut()?.take(*answer),
        Message::Edited(at, Ok(text)) => request(SessionRequest::Give(at, Given::Text(text))),
        Message::Renewed(Ok(panel)) if !model.is_on_top(&panel.title()) => {
            model.examined_for = None;
            None
        }
        Message::Opened(Ok(panel)) | Message::Renewed(Ok(panel)) => {
            model.log_end("ok", |kind| matches!(kind, LoggedKind::Doctor));
            model.notice = None;
            let asked_for = model.examined_for.take();
            if model.is_on_top(&panel.title()) {
                model.pop_overlay();
            }
            let opened = model.push_overlay(Overlay::Panel(panel));
            match asked_for.is_some_and(|size| size != model.size) {
                true => both_effects(opened, doctor::renew(model)),
                false => opened,
            }
        }
        Message::WorkDone(Ok(text)) => model.notify(text),
        Message::Edited(_, Err(problem))
        | Message::Opened(Err(problem))
        | Message::Renewed(Err(problem))
        | Message::WorkDone(Err(problem)) => {
            model.examined_for = None;
            model.warn(problem)
        }
        Message::Highlighter(highlighter) => {
            model.highlighter = Some(highlighter);
            None
        }
        Message::Continued => Some(vec![Effect::Redraw]),
        Message::Back(how) => {
            model.log_end(how, |kind| matches!(kind, LoggedKind::HandOver(_)));
            Some(vec![Effect::Redraw])
        }
    }
}

fn input(model: &mut Model, event: Event) -> Effects {
    match event {
        Event::Key(key) => return keys::key(model, key),
        Event::Paste(text) => return ask::paste(model, &text),
        Event::Resize(columns, rows) => {
            model.size = (columns, rows);
            return doctor::renew(model);
        }
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => return scroll::wheel(model, PanelAction::Up, WHEEL),
            MouseEventKind::ScrollDown => return scroll::wheel(model, PanelAction::Down, WHEEL),
            _ => model.dirty = false,
        },
        Event::FocusGained | Event::FocusLost => model.dirty = false,
    }
    None
}

/// The first effects of a tutor.
pub fn begin(model: &mut Model) -> Vec<Effect> {
    let mut effects = vec![Effect::Session(SessionRequest::Measure)];
    effects.extend(navigate::resume(model).into_iter().flatten());
    if model.state.position.is_none() && model.state.lessons.is_empty() {
        welcome::open(model);
    }
    effects.extend(navigate::read_to_its_end(model));
    effects.push(act::load_highlighter());
    effects
}
