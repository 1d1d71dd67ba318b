//! Recordings: runs of other machines, played as if they were made here and labelled as what they are.

use super::runs;
use crate::lesson::StepKind;
use crate::recording::Recording;
use crate::recording::play::Speed;
use crate::session::event::StepRef;
use crate::tui::message::Effect;
use crate::tui::model::Model;
use crate::tui::model::run::{Phase, Played};

/// Plays the recording of the open step's run.
pub fn play(model: &mut Model) -> Vec<Effect> {
    let Some(at) = run_step(model) else {
        model.tell("Recordings are played at a step that starts a run.");
        return Vec::new();
    };
    match model.recording_at(&at).cloned() {
        Some(recording) => start(model, at, &recording),
        None => {
            model.tell(
                "There is no recording of this run. The palette lists those of the same target.",
            );
            Vec::new()
        }
    }
}

/// Plays the recording of this id at the open step.
pub fn chosen(model: &mut Model, id: &str) -> Vec<Effect> {
    let (Some(at), Ok(recording)) = (run_step(model), model.recordings.find(id).cloned()) else {
        return Vec::new();
    };
    start(model, at, &recording)
}

fn start(model: &mut Model, at: StepRef, recording: &Recording) -> Vec<Effect> {
    let played = Played {
        recording: recording.id.clone(),
        origin: recording.origin(),
        speed: Speed::Real,
    };
    runs::queue(model, at, Some(played))
}

/// The step that is open, if it starts a run.
fn run_step(model: &Model) -> Option<StepRef> {
    let (_, step, view) = model.current()?;
    matches!(step.kind, StepKind::Run { .. }).then(|| view.at.clone())
}

/// Changes the speed of the recording that is played here.
pub fn turn(model: &mut Model, change: fn(Speed) -> Speed) -> Vec<Effect> {
    let at = model.step.as_ref().map(|view| view.at.clone());
    let playing = model
        .runs
        .iter_mut()
        .rev()
        .find(|run| Some(&run.at) == at.as_ref() && run.phase == Phase::Running);
    let Some((id, played)) = playing.and_then(|run| Some((run.id, run.played.as_mut()?))) else {
        model.tell("No recording is playing here.");
        return Vec::new();
    };
    let speed = change(played.speed);
    if speed == played.speed {
        model.dirty = false;
        return Vec::new();
    }
    played.speed = speed;
    vec![Effect::SetSpeed(id, speed)]
}
