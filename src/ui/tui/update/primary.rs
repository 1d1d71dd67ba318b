//! The action of Enter at a step: always the one thing that the step waits for.

use super::{act, ask, navigate, play, profile, recall, runs, scroll};
use crate::tui::{Effects, Model, OpenStep, RunPhase};
use tinyllama_lesson::QuizAnswer;
use tinyllama_session::{StepRef, StepStatus};
use tinyllama_tutor_core::document::{Given, MenuAction, MenuLine, PrimaryAction};
use tinyllama_tutor_core::{PanelAction, behavior};

pub enum Primary {
    /// Goes on to the next step.
    Next,
    /// Another action, with its description for the command bar.
    Do(&'static str, fn(&mut Model, &OpenStep) -> Effects),
}

use Primary::{Do, Next};

impl Primary {
    pub fn label(&self) -> &'static str {
        match self {
            Next => "next step",
            Do(does, _) => does,
        }
    }

    pub fn act(self, model: &mut Model, here: &OpenStep) -> Effects {
        match self {
            Next => navigate::next(model, here),
            Do(_, act) => act(model, here),
        }
    }
}

fn start(model: &mut Model, here: &OpenStep) -> Effects {
    runs::start(model, here.at.clone())
}

/// Does what the line of the menu under the cursor stands for.
fn take_line(model: &mut Model, here: &OpenStep) -> Effects {
    let at = here.at.clone();
    match model.line()?.act {
        MenuAction::Give(Given::Answer(answer)) if was_wrong(model, &at, answer) => {
            model.notify("That answer was wrong before; choose another one.")
        }
        MenuAction::Give(given) => recall::give(model, at, given),
        MenuAction::Run(..) if model.recording_instead(&at).is_some() => play::play(model, here),
        MenuAction::Run(_, flags) => runs::queue_with(model, at, flags, None),
    }
}

/// A choice that was already marked as wrong is not counted once more.
fn was_wrong(model: &Model, at: &StepRef, answer: QuizAnswer) -> bool {
    let answers = model.progress_at(at).answers;
    let mut wrong = answers.iter().filter(|given| !given.correct);
    wrong.any(|given| given.answer == answer.as_number())
}

/// Says how to choose a line, next to the text that has the lines.
fn choose(model: &mut Model, here: &OpenStep) -> Effects {
    if let Some(view) = &mut model.step {
        view.panel_open = false;
    }
    match model.context(here)?.document().1 {
        PrimaryAction::Choose { first, .. } => model.notify(first),
        _ => None,
    }
}

/// The action of Enter; `None` while the step waits for a run.
pub fn primary(model: &Model, here: &OpenStep) -> Option<Primary> {
    let context = model.context(here)?;
    let phase = model.run_at(&here.at).map(|run| &run.phase);
    match phase {
        Some(RunPhase::Queued) => return None,
        Some(RunPhase::Running | RunPhase::Stopping) => {
            let has_figures = behavior(here.step).figures().is_some();
            return has_figures.then_some(Do("watch the run", act::view));
        }
        Some(RunPhase::Over(_)) | None => {}
    }
    let status = &context.progress.status;
    if *status == StepStatus::Open && navigate::is_unread(model) {
        return Some(Do("read on", |model, _| {
            scroll::text(model, PanelAction::PageDown);
            None
        }));
    }
    // A question is answered once. A case can be looked into further.
    let is_taken = |line: &MenuLine| {
        *status != StepStatus::Done || !matches!(line.act, MenuAction::Give(Given::Answer(_)))
    };
    if let Some(line) = model.line().filter(is_taken) {
        return Some(Do(line.does, take_line));
    }
    Some(match context.document().1 {
        PrimaryAction::Next => Next,
        PrimaryAction::Choose { does, .. } => Do(does, choose),
        PrimaryAction::Ask(question) => Do(question.does, ask::question),
        PrimaryAction::Start(_) if model.recording_instead(&here.at).is_some() => {
            Do("play the recording", play::play)
        }
        PrimaryAction::Start(does) => Do(does, start),
        PrimaryAction::Compare => Do("show the figures", act::view),
        PrimaryAction::Kernel => Do("your kernel", act::view),
        PrimaryAction::Profile => return profile::primary(model, here),
    })
}
