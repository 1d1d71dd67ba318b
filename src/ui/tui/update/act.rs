//! Actions of the keys of a step, and of the keys that apply everywhere.

use std::sync::Arc;

use super::request::{note_time, request};
use super::{ask, kernel, navigate, primary, profile, runs};
use crate::tui::model::WIDE;
use crate::tui::{
    Ask, ComparePanel, ComparedRun, Confirm, Effect, Effects, HandOver, Highlighter, Message,
    Model, OpenStep, Overlay, RunPhase, SessionRequest,
};
use tinyllama_lesson::{Runs, StepRef};
use tinyllama_session::{SessionState, StepStatus};
use tinyllama_tutor_core::document::{Editable, Figures};
use tinyllama_tutor_core::{Action, behavior};

/// Said where Enter has to wait for a run.
pub const WAIT: &str = "This is still running; one moment.";

pub fn act(model: &mut Model, here: &OpenStep) -> Effects {
    match primary::primary(model, here) {
        Some(primary) => primary.act(model, here),
        None => model.notify(WAIT),
    }
}

pub fn hint(model: &mut Model, here: &OpenStep) -> Effects {
    if here.step.hints.is_empty() {
        return model.notify("This step has no hints.");
    }
    request(SessionRequest::Hint(here.at.clone()))
}

pub fn flags(model: &mut Model, here: &OpenStep) -> Effects {
    if behavior(here.step).edits() != Some(Editable::Flags) {
        return model.notify("This step starts nothing whose flags could be changed.");
    }
    let flags = model.flags_at(&here.at);
    let text = shlex::try_join(flags.iter().map(String::as_str)).unwrap_or_default();
    let ask = Ask::new(
        here.at.clone(),
        "Flags of the run",
        "Enter starts the run with them.",
        |model, at, text| {
            let flags = ask::split_arguments(text)?;
            if let Some(view) = model.view_at(&at) {
                view.flags = Some(flags);
            }
            Ok(runs::start(model, at))
        },
    );
    model.push_overlay(Overlay::Ask(ask.with_text(&text)))
}

/// Starts a step's run once more, however the last one ended.
pub fn run_again(model: &mut Model, here: &OpenStep) -> Effects {
    let mut actions = behavior(here.step).actions().iter();
    match actions.any(|(action, _)| *action == Action::Again) {
        true => runs::start(model, here.at.clone()),
        false => model.notify("This step starts no run."),
    }
}

/// Switches between the text and the figures.
pub fn view(model: &mut Model, here: &OpenStep) -> Effects {
    let mut effects = None;
    match behavior(here.step).figures() {
        Some(Figures::Comparison) => {
            rebuild_comparison(model);
            effects = request(SessionRequest::Check(here.at.clone()));
        }
        Some(Figures::Run) => match model.run_at(&here.at).map(|run| &run.phase) {
            None => {
                return model.notify("No run was started here yet, so there are no figures.");
            }
            Some(RunPhase::Queued) => {
                return model.notify("This run has not begun yet, so it has no figures.");
            }
            Some(_) => {}
        },
        Some(Figures::Profile) => {
            if model.step.as_ref().is_none_or(|view| view.panel.is_none()) {
                let is_done = model.progress_at(&here.at).status == StepStatus::Done;
                if is_done && profile::reads_sample(model, here) {
                    return profile::import_sample(model, here);
                }
                return model
                    .notify("There is no profile yet: run the profiler, or import a file.");
            }
        }
        Some(Figures::Kernel) => return kernel::watch(model, here),
        None => return model.notify("This step has no figures."),
    }
    if let Some(view) = &mut model.step {
        view.panel_open = true;
    }
    effects
}

/// Updates the comparison of the open step with the latest measurements.
pub fn rebuild_comparison(model: &mut Model) {
    let course = Arc::clone(&model.course);
    let here = model.open_step(&course);
    let Some(compare) = here.and_then(|here| here.step.as_compare()) else {
        return;
    };
    let compared = compare.runs.iter().map(|name| ComparedRun {
        label: course
            .step(&name.lesson, &name.step)
            .map_or(&name.step, |step| &step.title)
            .clone(),
        repeats: model
            .measured
            .measurements(name)
            .into_iter()
            .cloned()
            .collect(),
        recorded: model.measured.recorded(name).map(str::to_owned),
        setup: last_command(&model.state, name),
        rounds: compare
            .runs
            .first()
            .map_or(0, |first| model.measured.rounds(name, first)),
    });
    let panel = ComparePanel::new(compared.collect(), compare.metrics.clone());
    if let Some(view) = &mut model.step {
        view.panel = Some(Box::new(panel));
    }
}

/// The command line of the last run of a step.
fn last_command(state: &SessionState, name: &StepRef) -> Vec<String> {
    let runs = state.step(&name.lesson, &name.step).map(|step| &step.runs);
    let last = runs.and_then(|runs| state.runs.get(runs.last()?));
    last.map_or_else(Vec::new, |run| run.command.clone())
}

pub fn check(model: &mut Model, here: &OpenStep) -> Effects {
    if behavior(here.step).figures() == Some(Figures::Kernel) {
        return kernel::check(model, here);
    }
    if here.step.checks.is_empty() {
        return model.notify("Nothing is checked at this step.");
    }
    request(SessionRequest::Check(here.at.clone()))
}

pub fn skip(model: &mut Model, here: &OpenStep) -> Effects {
    if model.step.as_ref()?.recall.is_some() {
        return navigate::next(model, here);
    }
    if model.progress_at(&here.at).status == StepStatus::Done {
        return model.notify("This step is done; there is nothing to skip.");
    }
    model.push_overlay(Overlay::Ask(Ask::new(
        here.at.clone(),
        "Skip this step",
        "Why? A note for your report, or nothing.",
        |_, at, note| Ok(request(SessionRequest::Skip(at, note.into()))),
    )))
}

/// Skips all open steps of the lesson.
pub fn skip_lesson(model: &mut Model, here: &OpenStep) -> Effects {
    model.push_overlay(Overlay::Ask(Ask::new(
        here.at.clone(),
        "Skip this lesson",
        "Why? A word for your report, or nothing.",
        |model, at, note| {
            if let Some(view) = model.view_at(&at) {
                // The next step is then the one after this lesson.
                view.is_leftover = true;
            }
            Ok(request(SessionRequest::SkipLesson(at, note.into())))
        },
    )))
}

pub fn edit(model: &mut Model, here: &OpenStep) -> Effects {
    let at = here.at.clone();
    match behavior(here.step).edits() {
        Some(Editable::Text) => {
            let text = model.progress_at(&at).reflection.unwrap_or_default();
            Some(vec![Effect::HandOver(HandOver::Write { at, text })])
        }
        Some(Editable::Kernel) => kernel::edit(model, here),
        Some(Editable::ProfilerCommand) => ask::profile_command(model, here),
        Some(Editable::Flags) => flags(model, here),
        None => model.notify("There is nothing to edit at this step."),
    }
}

pub fn shell(_: &mut Model) -> Effects {
    Some(vec![Effect::HandOver(HandOver::Shell)])
}

pub fn zoom(model: &mut Model) -> Effects {
    model.is_zoomed = !model.is_zoomed;
    match model.size.0 {
        WIDE.. => None,
        _ => model.notify(format!("Panes stand side by side from {WIDE} columns on.")),
    }
}

pub fn redraw(_: &mut Model) -> Effects {
    Some(vec![Effect::Redraw])
}

pub fn quit(model: &mut Model) -> Effects {
    match model.running() {
        Some(_) => model.push_overlay(Overlay::Confirm(Confirm::Quit)),
        None => leave(model),
    }
}

pub fn leave(model: &mut Model) -> Effects {
    model.quitting = true;
    note_time(model).map(|effect| vec![effect])
}

pub fn load_highlighter() -> Effect {
    Effect::background_work("", |_| Message::Highlighter(Arc::new(Highlighter::load())))
}
