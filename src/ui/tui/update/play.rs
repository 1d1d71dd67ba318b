//! Plays recordings of other machines as runs of this one, labelled as recordings.

use std::sync::Arc;

use super::runs;
use crate::tui::{Area, Effect, Effects, Model, OpenStep, PlayedRecording, RunPhase};
use tinyllama_runs::Speed;
use tinyllama_session::StepRef;
use tinyllama_tutor_core::{Action, JobRecording};

/// Plays the recording of the open step's run.
pub fn play(model: &mut Model, here: &OpenStep) -> Effects {
    if here.step.job().is_none() {
        return model.notify("Recordings can only be played at a step that starts a run.");
    }
    if here.step.as_case().is_some() && model.case_move().is_none() {
        return model.notify("Move to a measurement or a fix first: its recording is played.");
    }
    match model.recording_at(&here.at) {
        Some(JobRecording { id, origin, .. }) => start(model, here.at.clone(), id, origin),
        None => model.notify(
            "There is no recording of this run. The palette lists those of the same target.",
        ),
    }
}

/// Lets Enter play recordings instead of starting runs, or start runs again.
pub fn always(model: &mut Model) -> Effects {
    model.plays_recordings = !model.plays_recordings;
    let key = model.keys.shown(Area::Step, Action::Recordings);
    model.notify(match model.plays_recordings {
        true => {
            format!("From now on Enter plays the recording of a run; {key} measures here again.")
        }
        false => "From now on Enter starts runs here.".into(),
    })
}

/// Plays the recording of this id at the open step. The step must have a run.
pub fn chosen(model: &mut Model, id: &str) -> Effects {
    let library = Arc::clone(&model.recordings);
    let at = model.step.as_ref()?.at.clone();
    let recording = library.find(id).ok()?;
    start(model, at, recording.id.clone(), recording.origin())
}

fn start(model: &mut Model, at: StepRef, recording: String, origin: String) -> Effects {
    let played = PlayedRecording {
        recording,
        origin,
        speed: Speed::REAL,
    };
    runs::queue(model, at, Some(played))
}

pub fn faster(model: &mut Model) -> Effects {
    turn(model, Speed::faster)
}

pub fn slower(model: &mut Model) -> Effects {
    turn(model, Speed::slower)
}

/// Changes the speed of the recording that plays at this step.
fn turn(model: &mut Model, change: fn(Speed) -> Speed) -> Effects {
    let at = model.step.as_ref().map(|view| &view.at);
    let mut runs = model.runs.iter_mut().rev();
    let playing = runs.find(|run| Some(&run.at) == at && run.phase == RunPhase::Running);
    let Some((id, played)) = playing.and_then(|run| Some((run.id, run.played.as_mut()?))) else {
        return model.notify("No recording is playing here.");
    };
    let speed = change(played.speed);
    if speed == played.speed {
        model.dirty = false;
        return None;
    }
    played.speed = speed;
    Some(vec![Effect::SetSpeed(id, speed)])
}
