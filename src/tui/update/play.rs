//! Recordings: runs of other machines, played as if they were made here and labelled as what they are.

use std::sync::Arc;

use super::runs;
use crate::lesson::StepKind;
use crate::recording::Recording;
use crate::run::play::Speed;
use crate::session::event::StepRef;
use crate::tui::message::Effect;
use crate::tui::model::run::{Phase, Played};
use crate::tui::model::{Here, Model};

/// Plays the recording of the open step's run.
pub fn play(model: &mut Model, here: &Here) -> Vec<Effect> {
    if !matches!(here.step.kind, StepKind::Run { .. }) {
        return model.tell("Recordings are played at a step that starts a run.");
    }
    match model.recording_at(&here.at).cloned() {
        Some(recording) => start(model, here.at.clone(), &recording),
        None => model
            .tell("There is no recording of this run. The palette lists those of the same target."),
    }
}

/// Plays the recording of this id at the open step, which starts a run.
pub fn chosen(model: &mut Model, id: &str) -> Vec<Effect> {
    let library = Arc::clone(&model.recordings);
    let at = model.step.as_ref().map(|view| view.at.clone());
    match (at, library.find(id)) {
        (Some(at), Ok(recording)) => start(model, at, recording),
        _ => Vec::new(),
    }
}

fn start(model: &mut Model, at: StepRef, recording: &Recording) -> Vec<Effect> {
    let played = Played {
        recording: recording.id.clone(),
        origin: recording.origin(),
        speed: Speed::Real,
    };
    runs::queue(model, at, Some(played))
}

pub fn faster(model: &mut Model) -> Vec<Effect> {
    turn(model, Speed::faster)
}

pub fn slower(model: &mut Model) -> Vec<Effect> {
    turn(model, Speed::slower)
}

/// Changes the speed of the recording that is played here.
fn turn(model: &mut Model, change: fn(Speed) -> Speed) -> Vec<Effect> {
    let at = model.step.as_ref().map(|view| &view.at);
    let mut runs = model.runs.iter_mut().rev();
    let playing = runs.find(|run| Some(&run.at) == at && run.phase == Phase::Running);
    let Some((id, played)) = playing.and_then(|run| Some((run.id, run.played.as_mut()?))) else {
        return model.tell("No recording is playing here.");
    };
    let speed = change(played.speed);
    if speed == played.speed {
        model.dirty = false;
        return Vec::new();
    }
    played.speed = speed;
    vec![Effect::SetSpeed(id, speed)]
}
