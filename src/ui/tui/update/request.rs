//! Requests to the session that several actions send.

use crate::tui::{Effect, Effects, Model, SessionRequest};

/// An effect that sends a request to the session.
pub fn request(request: SessionRequest) -> Effects {
    Some(vec![Effect::Session(request)])
}

/// Records the time spent at the open step, also when the tutor ends.
pub fn note_time(model: &mut Model) -> Option<Effect> {
    let seconds = model.attention.turn(model.now)?;
    let at = model.step.as_ref()?.at.clone();
    Some(Effect::Session(SessionRequest::Spend(at, seconds)))
}
