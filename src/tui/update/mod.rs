//! What follows from what happened: changes the model and says what is to be done, and does nothing else.

mod act;
mod ask;
mod figures;
mod keys;
mod navigate;
mod palette;
mod play;
mod profile;
mod reply;
mod runs;
mod scroll;
#[cfg(test)]
mod tests;

use super::message::{Effect, Message, Request};
use super::model::Model;

pub use palette::{Entry, entries};

/// Takes in one message.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    model.dirty = true;
    match message {
        Message::Key(event) => keys::key(model, event),
        Message::Paste(text) => ask::paste(model, &text),
        Message::Wheel(lines) => scroll::wheel(model, lines),
        Message::Resize(columns, rows) => {
            model.size = (columns, rows);
            scroll::clamp(model);
            Vec::new()
        }
        Message::Session(answer) => reply::reply(model, *answer),
        Message::RunStarted { id, run, command } => runs::started(model, id, run, command),
        Message::RunLine { id, line } => runs::line(model, id, &line),
        Message::RunClock { id, seconds } => runs::clock(model, id, seconds),
        Message::RunGpu {
            id,
            seconds,
            gpus,
            source,
        } => {
            if let Some(run) = model.run_mut(id) {
                run.view.gpu(seconds, &gpus, source);
            }
            Vec::new()
        }
        Message::RunEnded { id, run, ending } => runs::ended(model, id, run, ending),
        Message::Profile(at, message) => profile::message(model, &at, message),
        Message::Edited(at, result) => ask::edited(model, at, result),
        Message::Report(preview) => figures::collected(model, preview),
        Message::Exported(files) => figures::exported(model, files),
        Message::Roofline(input) => figures::placed(model, input),
        Message::Highlighter(highlighter) => {
            model.highlighter = Some(highlighter);
            Vec::new()
        }
        Message::Continued => vec![Effect::Redraw],
        Message::Trouble(text) => {
            model.warn(text);
            Vec::new()
        }
    }
}

/// What a tutor does when it is opened.
pub fn begin(model: &mut Model) -> Vec<Effect> {
    let mut effects = vec![Effect::Session(Request::Measure)];
    effects.extend(navigate::resume(model));
    effects.push(Effect::LoadHighlighter);
    effects
}

/// Notes the time of the step that is open. For the end of the tutor, too.
pub fn note_time(model: &mut Model) -> Option<Effect> {
    let seconds = model.attention.turn(model.now)?;
    let at = model.step.as_ref()?.at.clone();
    Some(Effect::Session(Request::Spend(at, seconds)))
}
