//! Runs: queues, starts, watches and ends them.

use super::request::request;
use crate::tui::{
    BackgroundTask, Confirm, Effect, Effects, LearnerPrediction, Message, Model, Overlay,
    PlayedRecording, Reveal, RunContext, RunId, RunPhase, RunView, SessionRequest, TutorRun,
    both_effects,
};
use tinyllama_base::{Interval, ratio_of_medians};
use tinyllama_lesson::Job;
use tinyllama_lesson::{FIXED, Quantity, Runs, Step, exact, recorded};
use tinyllama_runs::Metric;
use tinyllama_runs::RunUpdate;
use tinyllama_runs::metric::Statistic;
use tinyllama_runs::recording::label;
use tinyllama_session::{MeasuredRuns, StepRef};
use tinyllama_tutor_core::RunEnding;

/// Confidence level of the interval of a repeated run.
const CONFIDENCE: f64 = 0.95;

/// Starts a step's run with the learner's last flags, or queues it behind other runs.
pub fn start(model: &mut Model, at: StepRef) -> Effects {
    queue(model, at, None)
}

/// Starts or queues a run, or plays a recording instead.
pub fn queue(model: &mut Model, at: StepRef, played: Option<PlayedRecording>) -> Effects {
    let flags = model.flags_at(&at);
    queue_with(model, at, flags, played)
}

/// Starts or queues a run with flags that are not the learner's.
pub fn queue_with(
    model: &mut Model,
    at: StepRef,
    flags: Vec<String>,
    played: Option<PlayedRecording>,
) -> Effects {
    let step = model.course.step(&at.lesson, &at.step);
    let job = step.and_then(Step::job)?;
    let id = model.next_run();
    let origin = played.as_ref().map(|played| &played.origin);
    let view = RunView::new(context(model, &at, job.name(), origin));
    let waits = model.running().is_some() || model.queued() > 0;
    model.runs.push(TutorRun {
        id,
        at,
        job,
        flags,
        played,
        phase: RunPhase::Queued,
        run: None,
        said: None,
        view,
    });
    match waits {
        true => model.notify(format!("Queued: number {} in line.", model.queued())),
        false => start_next(model),
    }
}

/// Starts the first queued run, if no run is active.
fn start_next(model: &mut Model) -> Effects {
    if model.running().is_some() {
        return None;
    }
    let mut runs = model.runs.iter_mut();
    let run = runs.find(|run| run.phase == RunPhase::Queued)?;
    run.phase = RunPhase::Running;
    let effect = match &run.played {
        Some(played) => Effect::PlayRecording {
            id: run.id,
            recording: played.recording.clone(),
            speed: played.speed,
        },
        None => Effect::StartRun {
            id: run.id,
            job: run.job.clone(),
            flags: run.flags.clone(),
            round: None,
        },
    };
    if let Some(view) = &mut model.step
        && view.at == run.at
    {
        // A command shows its output only after it has ended.
        view.panel_open = matches!(run.job, Job::Run(_));
        view.outcomes.clear();
    }
    Some(vec![effect])
}

/// Reads the last run of a step, if its files are left, to show its figures again.
pub fn read_last(model: &Model, at: &StepRef, target: &str) -> Option<Effect> {
    let progress = model.state.step(&at.lesson, &at.step)?;
    let run = progress.runs.last()?.clone();
    let origin = model.state.runs.get(&run)?.recording.as_ref();
    let context = context(model, at, target, origin);
    let (at, target) = (at.clone(), target.to_owned());
    Some(Effect::Work(BackgroundTask {
        meanwhile: "",
        job: Box::new(move |task_context| {
            // An unreadable run shows no figures. The text still says how often the step ran.
            if let Ok((view, ending)) = RunView::read(&task_context.runs.folder.join(&run), context)
            {
                let read = TutorRun {
                    id: RunId(0),
                    at,
                    job: Job::Run(target),
                    flags: Vec::new(),
                    played: None,
                    phase: RunPhase::Over(ending),
                    run: Some(run),
                    said: None,
                    view,
                };
                task_context.send(Message::RunRead(Box::new(read)));
            }
        }),
    }))
}

/// Adds a run of an earlier day at its step.
pub fn read(model: &mut Model, mut run: TutorRun) -> Effects {
    if model.run_at(&run.at).is_some() {
        return None;
    }
    (run.id, run.flags) = (model.next_run(), model.flags_at(&run.at));
    run.view.state.prediction_outcome = prediction_outcome(model, &run.at);
    if let Some(open) = model.view_at(&run.at) {
        run.view.state.verdicts = open.outcomes.clone();
    }
    run.view.state.to_before = compare_with_last(&model.measured, &run);
    model.runs.insert(0, run);
    None
}

/// Context for the figures of a run: its origin and the prediction.
fn context(model: &Model, at: &StepRef, target: &str, origin: Option<&String>) -> RunContext {
    RunContext {
        target: target.to_string(),
        recording: origin.map(|origin| label(origin)),
        // A prediction about this machine is not compared with another machine.
        prediction: origin.is_none().then(|| prediction(model, at)).flatten(),
        round: None,
    }
}

/// The prediction in the same lesson about this run.
fn prediction(model: &Model, at: &StepRef) -> Option<LearnerPrediction> {
    let (measure, value) = guess(model, at)?;
    Some(LearnerPrediction {
        label: measure.in_short(),
        value,
        unit: measure.unit(),
        metric: is_of_one_run(measure).then_some(measure.numerator.metric),
    })
}

/// What the learner guessed about this run, and the guess.
fn guess<'m>(model: &'m Model, at: &StepRef) -> Option<(&'m Quantity, f64)> {
    let lesson = model.course.lesson(&at.lesson)?;
    lesson.steps.iter().find_map(|step| {
        let measure = &step.as_predict()?.measure;
        let is_of_it = measure.runs().any(|name| name == at);
        let value = model.state.step(&at.lesson, &step.id)?.prediction?;
        is_of_it.then_some((measure, value))
    })
}

/// Returns whether the run's own summary has the figure.
fn is_of_one_run(measure: &Quantity) -> bool {
    measure.denominator.is_none() && measure.numerator.statistic == Statistic::Median
}

/// What was measured of the learner's guess about this run, if the run's summary alone does not say it. Nothing while a
/// run that it needs is missing, or is of another machine.
pub fn prediction_outcome(model: &Model, at: &StepRef) -> Option<f64> {
    let (measure, _) = guess(model, at)?;
    let runs = model.measured.as_ref();
    let is_elsewhere = is_of_one_run(measure) || recorded(measure, runs).is_some();
    (!is_elsewhere).then(|| exact(measure, runs).ok()).flatten()
}

/// Divides the step time of a run by that of the run before with the same command, machine and device. `None` for the
/// first of them. Runs that differ in anything else belong into a comparison that says so.
pub fn compare_with_last(measured: &MeasuredRuns, run: &TutorRun) -> Option<Interval> {
    let (at, run) = (&run.at, run.run.as_ref()?);
    let fixed = StepRef::new(&at.lesson, format!("{}{FIXED}", at.step));
    let is_newest = |name: &&StepRef| measured.newest(name) == Some(run);
    let name = [at, &fixed].into_iter().find(is_newest)?;
    let repeats = measured.measurements(name);
    let [.., before, now] = repeats.as_slice() else {
        return None;
    };
    if before.device() != now.device() {
        return None;
    }
    let [now, before] = [now, before].map(|run| run.series(Metric::TotalMs));
    ratio_of_medians(&[now?], &[before?], CONFIDENCE).ok()
}

pub fn on_run_update(model: &mut Model, id: RunId, update: RunUpdate) -> Effects {
    let is_shown = shown(model) == Some(id);
    let asked = model.run_mut(id)?;
    match update {
        RunUpdate::Started { run, command } => {
            asked.run = Some(run.clone());
            return request(SessionRequest::RunStarted {
                run,
                at: asked.at.clone(),
                target: asked.job.name().to_string(),
                command,
                recording: asked.played.as_ref().map(|played| played.origin.clone()),
            });
        }
        RunUpdate::Line(line) => {
            asked.view.state.line(&line);
            // A run in the background takes one word in the status line, which the clock updates.
            model.dirty = is_shown;
        }
        RunUpdate::Clock {
            seconds,
            silent,
            gpus,
            said,
        } => {
            asked.view.clock(seconds, silent);
            asked.said = said.filter(|_| matches!(asked.job, Job::Command(_)));
            if let Some((gpus, source)) = gpus {
                asked.view.gpu(seconds, &gpus, source);
            }
        }
    }
    None
}

/// The run whose figures are on the screen.
fn shown(model: &Model) -> Option<RunId> {
    let view = model.step.as_ref().filter(|view| view.panel_open)?;
    model.run_at(&view.at).map(|run| run.id)
}

pub fn ask_to_stop(model: &mut Model) -> Effects {
    let here = model
        .step
        .as_ref()
        .and_then(|view| model.run_at(&view.at))
        .filter(|run| !matches!(run.phase, RunPhase::Over(_)));
    let Some(run) = here.or_else(|| model.running()) else {
        return model.notify("No run is in progress.");
    };
    let id = run.id;
    if run.phase == RunPhase::Queued {
        model.runs.retain(|run| run.id != id);
        return model.notify("Taken out of the queue.");
    }
    model.push_overlay(Overlay::Confirm(Confirm::Stop(id)))
}

pub fn stop(model: &mut Model, id: RunId) -> Effects {
    let run = model.run_mut(id).filter(|run| run.phase.is_alive())?;
    run.phase = RunPhase::Stopping;
    let word = match run.played {
        Some(_) => "Stopping…",
        None => "Stopping after this step…",
    };
    model.notify(word);
    Some(vec![Effect::StopRun(id)])
}

pub fn ended(model: &mut Model, id: RunId, run: Option<String>, ending: RunEnding) -> Effects {
    let over = model.run_mut(id)?;
    let at = over.at.clone();
    over.view.ended(ending.clone());
    over.phase = RunPhase::Over(ending.clone());
    drop_old_runs(model);
    let is_success = ending.is_success();
    // The figures stay. The result of the run stands above them, and in the text.
    if let Some(view) = model.view_at(&at) {
        view.reveal.set(Some(Reveal::News));
    }
    match is_success {
        true => model.notify(ending.message),
        false => model.warn(ending.in_full()),
    };
    let finished = run.zip(ending.exit);
    let finished =
        finished.and_then(|(run, exit)| request(SessionRequest::RunFinished { run, at, exit }));
    both_effects(finished, start_next(model))
}

/// Keeps the last run of each step for another look. The figures of earlier runs are in files.
fn drop_old_runs(model: &mut Model) {
    let places = model.runs.iter().map(|run| (run.id, run.at.clone()));
    let places: Vec<(RunId, StepRef)> = places.collect();
    model.runs.retain(|run| {
        let is_last = !places.iter().any(|(id, at)| *id > run.id && *at == run.at);
        is_last || !matches!(run.phase, RunPhase::Over(_))
    });
}
