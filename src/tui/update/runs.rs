//! Runs: asked for, queued, started, watched, ended.

use super::scroll;
use crate::analysis::metric::Statistic;
use crate::lesson::StepKind;
use crate::recording::label;
use crate::run::Line;
use crate::session::event::{RunExit, StepRef};
use crate::tui::message::{Effect, Request, RunId};
use crate::tui::model::Model;
use crate::tui::model::overlay::{Confirm, Overlay};
use crate::tui::model::run::{Phase, Played, Run};
use crate::tui::run_view::{EarlierRun, Ended, Prediction, RunContext, RunView};
use crate::tutor::Ending;
use crate::tutor::ending::signal_name;

/// Earlier runs a new one is held against.
const MOST_EARLIER: usize = 4;

/// Starts a step's run with the flags the learner gave last, or puts it behind those that are waiting.
pub fn start(model: &mut Model, at: StepRef) -> Vec<Effect> {
    queue(model, at, None)
}

/// The same, or plays a recording instead.
pub fn queue(model: &mut Model, at: StepRef, played: Option<Played>) -> Vec<Effect> {
    let Some(StepKind::Run { target, .. }) = model
        .course
        .step(&at.lesson, &at.step)
        .map(|step| step.kind.clone())
    else {
        return Vec::new();
    };
    let flags = model.flags_at(&at);
    let id = RunId(model.runs.last().map_or(1, |run| run.id.0 + 1));
    let view = RunView::new(context(model, &at, &target, played.as_ref()));
    let waits = model.running().is_some() || model.queued() > 0;
    model.runs.push(Run {
        id,
        at,
        target,
        flags,
        played,
        phase: Phase::Queued,
        run: None,
        view,
    });
    if waits {
        let position = model.queued();
        model.tell(format!("Queued: number {position} in line."));
        return Vec::new();
    }
    start_next(model)
}

/// Starts the first run that waits, if none is going.
fn start_next(model: &mut Model) -> Vec<Effect> {
    if model.running().is_some() {
        return Vec::new();
    }
    let open_at = model.step.as_ref().map(|view| view.at.clone());
    let Some(run) = model.runs.iter_mut().find(|run| run.phase == Phase::Queued) else {
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
    if open_at.as_ref() == Some(&run.at)
        && let Some(view) = &mut model.step
    {
        view.panel_open = true;
        view.outcomes.clear();
    }
    vec![effect]
}

/// What the run's view holds its figures against.
fn context(model: &Model, at: &StepRef, target: &str, played: Option<&Played>) -> RunContext {
    let title = model
        .course
        .step(&at.lesson, &at.step)
        .map_or(at.step.clone(), |step| step.title.clone());
    RunContext {
        title,
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
    let mut seen = Vec::new();
    for (_, run) in runs {
        let Some(step) = run.at.as_ref() else {
            continue;
        };
        if seen.iter().any(|(other, _)| other == step) {
            continue;
        }
        let label = if step == at {
            "last time".to_string()
        } else if step.lesson == at.lesson {
            step.step.clone()
        } else {
            format!("{}/{}", step.lesson, step.step)
        };
        let value = |name: &str| run.values.get(name).copied();
        let earlier = EarlierRun {
            label,
            total_ms: value("total_ms"),
            samples_per_s: value("samples_per_s"),
        };
        seen.push((step.clone(), earlier));
        if seen.len() == MOST_EARLIER {
            break;
        }
    }
    seen.into_iter().map(|(_, earlier)| earlier).collect()
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

pub fn clock(model: &mut Model, id: RunId, seconds: f64) -> Vec<Effect> {
    if let Some(run) = model.run_mut(id) {
        run.view.clock(seconds);
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
        model.tell("No run is going.");
        return Vec::new();
    };
    let id = run.id;
    match run.phase {
        Phase::Queued => {
            model.runs.retain(|run| run.id != id);
            model.tell("Taken out of the queue.");
        }
        _ => model.overlay = Some(Overlay::Confirm(Confirm::Stop(id))),
    }
    Vec::new()
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
    let is_open = model
        .run_mut(id)
        .map(|run| run.at.clone())
        .filter(|at| model.step.as_ref().is_some_and(|view| view.at == *at));
    let Some(over) = model.run_mut(id) else {
        return Vec::new();
    };
    over.view.stderr(&ending.stderr);
    over.view.ended(how(&ending), ending.remedy.clone());
    over.phase = Phase::Over(ending.clone());
    let mut effects = Vec::new();
    if let (Some(run), Some(exit)) = (run, ending.exit.clone()) {
        effects.push(Effect::Session(Request::RunFinished {
            run,
            at: over.at.clone(),
            exit,
        }));
    }
    forget_old(model);
    if ending.is_success() {
        model.tell(ending.words.clone());
    } else {
        model.warn(ending.words.clone());
    }
    if is_open.is_some() && !ending.is_success() {
        // The reason stands in the text, with the last lines of the log.
        if let Some(view) = &mut model.step {
            view.panel_open = false;
        }
        scroll::to_news(model);
    }
    effects.extend(start_next(model));
    effects
}

fn how(ending: &Ending) -> Ended {
    match &ending.exit {
        Some(RunExit::Status(code)) => Ended::Exit { code: *code },
        Some(RunExit::Signal(signal)) => Ended::Signal {
            signal: *signal,
            name: signal_name(*signal),
        },
        Some(RunExit::Lost) | None => Ended::NotStarted {
            message: ending.words.clone(),
        },
    }
}

/// Keeps the last run of each step: its figures can be looked at again, those of the ones before are in files.
fn forget_old(model: &mut Model) {
    let last: Vec<(StepRef, RunId)> = model
        .runs
        .iter()
        .map(|run| (run.at.clone(), run.id))
        .collect();
    model.runs.retain(|run| {
        !matches!(run.phase, Phase::Over(_))
            || last
                .iter()
                .rev()
                .find(|(at, _)| *at == run.at)
                .is_none_or(|(_, id)| *id == run.id)
    });
}
