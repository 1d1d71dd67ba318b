//! Runs: asked for, queued, started, watched, ended.

use std::sync::Arc;

use crate::analysis::metric::Statistic;
use crate::lesson::StepKind;
use crate::recording::label;
use crate::run::Line;
use crate::session::event::{RunExit, StepRef};
use crate::tui::message::{Effect, Request, RunId};
use crate::tui::model::Model;
use crate::tui::model::overlay::{Confirm, Overlay};
use crate::tui::model::run::{Phase, Played, Run};
use crate::tui::model::step::Reveal;
use crate::tui::run_view::{EarlierRun, Prediction, RunContext, RunView};
use crate::tutor::Ending;

/// Earlier runs a new one is held against.
const MOST_EARLIER: usize = 4;

/// Starts a step's run with the flags the learner gave last, or puts it behind those that are waiting.
pub fn start(model: &mut Model, at: StepRef) -> Vec<Effect> {
    queue(model, at, None)
}

/// The same, or plays a recording instead.
pub fn queue(model: &mut Model, at: StepRef, played: Option<Played>) -> Vec<Effect> {
    let course = Arc::clone(&model.course);
    let step = course.step(&at.lesson, &at.step);
    let Some(StepKind::Run { target, .. }) = step.map(|step| &step.kind) else {
        return Vec::new();
    };
    let flags = model.flags_at(&at);
    let id = RunId(model.runs.last().map_or(1, |run| run.id.0 + 1));
    let view = RunView::new(context(model, &at, target, played.as_ref()));
    let waits = model.running().is_some() || model.queued() > 0;
    model.runs.push(Run {
        id,
        at,
        target: target.clone(),
        flags,
        played,
        phase: Phase::Queued,
        run: None,
        view,
    });
    match waits {
        true => model.tell(format!("Queued: number {} in line.", model.queued())),
        false => start_next(model),
    }
}

/// Starts the first run that waits, if none is going.
fn start_next(model: &mut Model) -> Vec<Effect> {
    if model.running().is_some() {
        return Vec::new();
    }
    let mut runs = model.runs.iter_mut();
    let Some(run) = runs.find(|run| run.phase == Phase::Queued) else {
        return Vec::new();
    };
    run.phase = Phase::Running;
    let effect = match &run.played {
        Some(played) => Effect::PlayRecording {
            id: run.id,
            recording: played.recording.clone(),
            speed: played.speed,
        },
        None => Effect::StartRun {
            id: run.id,
            target: run.target.clone(),
            flags: run.flags.clone(),
        },
    };
    if let Some(view) = &mut model.step
        && view.at == run.at
    {
        view.panel_open = true;
        view.outcomes.clear();
    }
    vec![effect]
}

/// What the run's view holds its figures against.
fn context(model: &Model, at: &StepRef, target: &str, played: Option<&Played>) -> RunContext {
    RunContext {
        target: target.to_string(),
        recording: played.map(|played| label(&played.origin)),
        prediction: prediction(model, at),
        earlier: earlier(model, at, played),
    }
}

/// The guess of the same lesson that is about this run.
fn prediction(model: &Model, at: &StepRef) -> Option<Prediction> {
    let lesson = model.course.lesson(&at.lesson)?;
    lesson.steps.iter().find_map(|step| {
        let StepKind::Predict { measure } = &step.kind else {
            return None;
        };
        let is_about =
            |name: &crate::lesson::RunName| name.lesson == at.lesson && name.step == at.step;
        if !measure.runs().any(is_about) {
            return None;
        }
        let value = model.state.step(&at.lesson, &step.id)?.prediction?;
        let is_plain =
            measure.denominator.is_none() && measure.numerator.statistic == Statistic::Median;
        Some(Prediction {
            label: measure.to_string(),
            value,
            unit: measure.unit(),
            metric: is_plain.then_some(measure.numerator.metric),
        })
    })
}

/// The last runs of other steps that came to an end on the same machine, newest first.
fn earlier(model: &Model, at: &StepRef, played: Option<&Played>) -> Vec<EarlierRun> {
    let origin = played.map(|played| &played.origin);
    let mut runs: Vec<_> = model
        .state
        .runs
        .iter()
        .filter(|(_, run)| run.exit == Some(RunExit::Status(0)) && run.at.is_some())
        .filter(|(_, run)| run.recording.as_ref() == origin)
        .collect();
    // Ids begin with the time.
    runs.sort_by(|a, b| b.0.cmp(a.0));
    let mut seen: Vec<&StepRef> = Vec::new();
    let mut earlier = Vec::new();
    for (step, run) in runs
        .iter()
        .filter_map(|(_, run)| Some((run.at.as_ref()?, run)))
    {
        if seen.contains(&step) || seen.len() == MOST_EARLIER {
            continue;
        }
        seen.push(step);
        let value = |name: &str| run.values.get(name).copied();
        earlier.push(EarlierRun {
            label: match step {
                step if step == at => "last time".to_string(),
                step if step.lesson == at.lesson => step.step.clone(),
                step => format!("{}/{}", step.lesson, step.step),
            },
            total_ms: value("total_ms"),
            samples_per_s: value("samples_per_s"),
        });
    }
    earlier
}

pub fn started(model: &mut Model, id: RunId, run: String, command: Vec<String>) -> Vec<Effect> {
    let Some(asked) = model.run_mut(id) else {
        return Vec::new();
    };
    asked.run = Some(run.clone());
    let request = Request::RunStarted {
        run,
        at: asked.at.clone(),
        target: asked.target.clone(),
        command,
        recording: asked.played.as_ref().map(|played| played.origin.clone()),
    };
    vec![Effect::Session(request)]
}

pub fn line(model: &mut Model, id: RunId, line: &Line) -> Vec<Effect> {
    let is_shown = shown(model) == Some(id);
    if let Some(run) = model.run_mut(id) {
        run.view.line(line);
    }
    // A run in the background shows as one word in the status line, which the clock keeps up to date.
    model.dirty = is_shown;
    Vec::new()
}

/// Lets a run's view know something.
pub fn with_view(model: &mut Model, id: RunId, tell: impl FnOnce(&mut RunView)) -> Vec<Effect> {
    if let Some(run) = model.run_mut(id) {
        tell(&mut run.view);
    }
    Vec::new()
}

/// The run whose figures are on the screen.
fn shown(model: &Model) -> Option<RunId> {
    let view = model.step.as_ref().filter(|view| view.panel_open)?;
    model.run_at(&view.at).map(|run| run.id)
}

pub fn ask_to_stop(model: &mut Model) -> Vec<Effect> {
    let here = model
        .step
        .as_ref()
        .and_then(|view| model.run_at(&view.at))
        .filter(|run| !matches!(run.phase, Phase::Over(_)));
    let Some(run) = here.or_else(|| model.running()) else {
        return model.tell("No run is going.");
    };
    let id = run.id;
    if run.phase == Phase::Queued {
        model.runs.retain(|run| run.id != id);
        return model.tell("Taken out of the queue.");
    }
    model.lay(Overlay::Confirm(Confirm::Stop(id)))
}

pub fn stop(model: &mut Model, id: RunId) -> Vec<Effect> {
    let Some(run) = model.run_mut(id).filter(|run| run.phase.is_alive()) else {
        return Vec::new();
    };
    run.phase = Phase::Stopping;
    let word = match run.played {
        Some(_) => "Stopping…",
        None => "Stopping after this step…",
    };
    model.tell(word);
    vec![Effect::StopRun(id)]
}

pub fn ended(model: &mut Model, id: RunId, run: Option<String>, ending: Ending) -> Vec<Effect> {
    let Some(over) = model.run_mut(id) else {
        return Vec::new();
    };
    let at = over.at.clone();
    over.view.ended(ending.clone());
    over.phase = Phase::Over(ending.clone());
    forget_old(model);
    let is_success = ending.is_success();
    if let Some(view) = model.view_at(&at)
        && !is_success
    {
        // The reason stands in the text, with the last lines of the log.
        view.panel_open = false;
        view.reveal.set(Some(Reveal::News));
    }
    match is_success {
        true => model.tell(ending.words),
        false => model.warn(ending.words),
    };
    let finished = run.zip(ending.exit);
    let finished = finished.map(|(run, exit)| Request::RunFinished { run, at, exit });
    let mut effects: Vec<Effect> = finished.map(Effect::Session).into_iter().collect();
    effects.extend(start_next(model));
    effects
}

/// Keeps the last run of each step: its figures can be looked at again, those of the ones before are in files.
fn forget_old(model: &mut Model) {
    let places = model.runs.iter().map(|run| (run.id, run.at.clone()));
    let places: Vec<(RunId, StepRef)> = places.collect();
    model.runs.retain(|run| {
        let is_last = !places.iter().any(|(id, at)| *id > run.id && *at == run.at);
        is_last || !matches!(run.phase, Phase::Over(_))
    });
}
