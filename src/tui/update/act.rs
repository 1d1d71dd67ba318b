//! What the keys of a step do.

use super::{ask, figures, navigate, profile, runs, scroll};
use crate::lesson::StepKind;
use crate::lesson::quiz::{Answer, Quiz};
use crate::session::event::StepRef;
use crate::session::state::Status;
use crate::tui::message::{Effect, HandOver, Request};
use crate::tui::model::Model;
use crate::tui::model::overlay::Question;
use crate::tui::model::primary::Primary;
use crate::tui::model::run::Phase;
use crate::tui::panels::compare::{ComparePanel, ComparedRun};

pub fn primary(model: &mut Model) -> Vec<Effect> {
    let Some(primary) = model.primary() else {
        model.tell("This is under way; one moment.");
        return Vec::new();
    };
    let Some((_, step, view)) = model.current() else {
        return Vec::new();
    };
    let at = view.at.clone();
    match primary {
        Primary::Next => navigate::next(model),
        Primary::Guess => {
            let unit = match &step.kind {
                StepKind::Predict { measure } => ask::unit_word(measure.unit()),
                _ => String::new(),
            };
            ask::open(model, Question::Guess(at, unit), "")
        }
        Primary::Number => {
            let unit = match &step.kind {
                StepKind::Quiz(Quiz::Number(number)) => number.unit.clone(),
                _ => String::new(),
            };
            ask::open(model, Question::Number(at, unit), "")
        }
        Primary::Answer => {
            let answer = Answer::Choice(view.choice);
            vec![Effect::Session(Request::Answer(at, answer))]
        }
        Primary::Start => runs::start(model, at),
        Primary::Watch | Primary::Figures => self::view(model),
        Primary::Profile => profile::run(model, false),
        Primary::Import => import(model),
        Primary::Open => edit(model),
        Primary::Kernels => figures::kernels(model),
        Primary::Write => write(model, at),
    }
}

fn write(model: &mut Model, at: StepRef) -> Vec<Effect> {
    let text = reflection(model, &at);
    ask::open(model, Question::Reflection(at), &text)
}

fn reflection(model: &Model, at: &StepRef) -> String {
    model
        .state
        .step(&at.lesson, &at.step)
        .and_then(|progress| progress.reflection.clone())
        .unwrap_or_default()
}

pub fn hint(model: &mut Model) -> Vec<Effect> {
    let Some((_, step, view)) = model.current() else {
        return Vec::new();
    };
    if step.hints.is_empty() {
        model.tell("This step has no hints.");
        return Vec::new();
    }
    vec![Effect::Session(Request::Hint(view.at.clone()))]
}

pub fn flags(model: &mut Model) -> Vec<Effect> {
    let Some((_, step, view)) = model.current() else {
        return Vec::new();
    };
    let at = view.at.clone();
    if !matches!(step.kind, StepKind::Run { .. }) {
        model.tell("This step starts no run.");
        return Vec::new();
    }
    let flags = model.flags_at(&at);
    let text = shlex::try_join(flags.iter().map(String::as_str)).unwrap_or_default();
    ask::open(model, Question::Flags(at), &text)
}

/// Between the text and the figures.
pub fn view(model: &mut Model) -> Vec<Effect> {
    let Some((_, step, view)) = model.current() else {
        return Vec::new();
    };
    let at = view.at.clone();
    let compared = match &step.kind {
        StepKind::Compare { .. } => true,
        StepKind::Run { .. }
            if model
                .run_at(&at)
                .is_none_or(|run| run.phase == Phase::Queued) =>
        {
            model.tell("No run was started here yet, so there are no figures.");
            return Vec::new();
        }
        StepKind::Run { .. } => false,
        StepKind::Profile { .. } if view.profile.panel.is_none() => {
            model.tell("There is no profile yet: run the profiler, or import a file.");
            return Vec::new();
        }
        StepKind::Profile { .. } => false,
        _ => {
            model.tell("This step has no figures.");
            return Vec::new();
        }
    };
    if compared {
        rebuild_comparison(model);
    }
    if let Some(view) = &mut model.step {
        view.panel_open = true;
    }
    if compared {
        vec![Effect::Session(Request::Check(at))]
    } else {
        Vec::new()
    }
}

/// Fills the comparison with what the runs measured by now.
pub fn rebuild_comparison(model: &mut Model) {
    use crate::lesson::Runs;
    let Some((_, step, _)) = model.current() else {
        return;
    };
    let StepKind::Compare { runs, metrics } = &step.kind else {
        return;
    };
    let compared = runs
        .iter()
        .map(|name| {
            let lesson = model.course.lesson(&name.lesson);
            let title = lesson
                .and_then(|lesson| lesson.step(&name.step))
                .map_or(name.step.clone(), |step| step.title.clone());
            ComparedRun {
                label: title,
                repeats: model.measured.of(name).to_vec(),
                recorded: model.measured.recorded(name).map(str::to_owned),
            }
        })
        .collect();
    let panel = ComparePanel::new(compared, metrics.clone());
    if let Some(view) = &mut model.step {
        view.compare = Some(panel);
    }
}

pub fn check(model: &mut Model) -> Vec<Effect> {
    let Some((_, step, view)) = model.current() else {
        return Vec::new();
    };
    if step.checks.is_empty() {
        model.tell("Nothing is checked at this step.");
        return Vec::new();
    }
    vec![Effect::Session(Request::Check(view.at.clone()))]
}

pub fn skip(model: &mut Model) -> Vec<Effect> {
    let Some((lesson, step, view)) = model.current() else {
        return Vec::new();
    };
    if model.progress_of(lesson, step).status == Status::Done {
        model.tell("This step is done; there is nothing to skip.");
        return Vec::new();
    }
    let at = view.at.clone();
    ask::open(model, Question::Skip(at), "")
}

pub fn edit(model: &mut Model) -> Vec<Effect> {
    let Some((_, step, view)) = model.current() else {
        return Vec::new();
    };
    let at = view.at.clone();
    match &step.kind {
        StepKind::Reflect => {
            let text = reflection(model, &at);
            vec![Effect::HandOver(HandOver::Write { at, text })]
        }
        StepKind::Kernel { file } => {
            let path = model.workbench.join(file);
            if path.exists() {
                vec![Effect::HandOver(HandOver::Open(path))]
            } else {
                model.warn(format!("{} is not there yet.", path.display()));
                Vec::new()
            }
        }
        StepKind::Profile { .. } => match view.profile.line().map(|line| line.shell()) {
            Some(line) => ask::open(model, Question::ProfileCommand(at), &line),
            None => Vec::new(),
        },
        StepKind::Run { .. } => flags(model),
        _ => {
            model.tell("There is nothing to edit at this step.");
            Vec::new()
        }
    }
}

pub fn import(model: &mut Model) -> Vec<Effect> {
    let Some((_, step, view)) = model.current() else {
        return Vec::new();
    };
    let at = view.at.clone();
    if !matches!(step.kind, StepKind::Profile { .. }) {
        model.tell("Profiles are imported at a profile step.");
        return Vec::new();
    }
    ask::open(model, Question::Import(at), "")
}

pub fn terminal(model: &mut Model) -> Vec<Effect> {
    profile::run(model, true)
}

pub fn search(model: &mut Model) -> Vec<Effect> {
    let text = model
        .step
        .as_ref()
        .and_then(|view| view.search.clone())
        .unwrap_or_default();
    scroll::clamp(model);
    ask::open(model, Question::Search, &text)
}
