//! The action of Enter at a step: always the one thing that the step waits for.

use super::{act, ask, navigate, profile, request, runs, scroll};
use crate::lesson::{CaseMove, Quiz, QuizAnswer, StepKind};
use crate::session::StepStatus;
use crate::tui::{Effects, Model, OpenStep, PanelAction, RunPhase, SessionRequest};

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

/// The action under the cursor in the menu of a case.
fn investigate(model: &Model, is_done: bool) -> Primary {
    match model.case_move() {
        None if is_done => Next,
        None => Do("choose what to do", |model, _| {
            model.notify("Move to a line first, with the arrow keys or its number.")
        }),
        Some(CaseMove::Suspect(_)) => Do("name this suspect", |model, here| {
            let (StepKind::Investigate(case), Some(CaseMove::Suspect(index))) =
                (&here.step.kind, model.case_move())
            else {
                return None;
            };
            let suspect = case.suspects.get(index)?.id.clone();
            request(SessionRequest::Suspect(here.at.clone(), suspect))
        }),
        Some(case_move) => {
            let does = match case_move {
                CaseMove::Fix(_) => "run with this fix",
                _ => "take this measurement",
            };
            Do(does, |model, here| {
                let StepKind::Investigate(case) = &here.step.kind else {
                    return None;
                };
                let flags = model
                    .case_move()
                    .and_then(|case_move| case.flags_of(case_move));
                runs::queue_with(model, here.at.clone(), flags?, None)
            })
        }
    }
}

fn start(model: &mut Model, here: &OpenStep) -> Effects {
    runs::start(model, here.at.clone())
}

/// The action of Enter; `None` while the step waits for a run.
pub fn primary(model: &Model, here: &OpenStep) -> Option<Primary> {
    let progress = model.progress_at(&here.at);
    let is_done = progress.status == StepStatus::Done;
    let phase = model.run_at(&here.at).map(|run| &run.phase);
    match (&here.step.kind, phase) {
        (_, Some(RunPhase::Queued)) => return None,
        (StepKind::Command { .. }, Some(RunPhase::Running | RunPhase::Stopping)) => return None,
        (_, Some(RunPhase::Running | RunPhase::Stopping)) => {
            return Some(Do("watch the run", act::view));
        }
        (_, Some(RunPhase::Over(_)) | None) => {}
    }
    if progress.status == StepStatus::Open && navigate::is_unread(model) {
        return Some(Do("read on", |model, _| {
            scroll::text(model, PanelAction::PageDown);
            None
        }));
    }
    Some(match &here.step.kind {
        StepKind::Read => Next,
        StepKind::Predict { .. } if progress.prediction.is_some() => Next,
        StepKind::Predict { .. } => Do("guess", ask::guess),
        StepKind::Investigate(_) => investigate(model, is_done),
        _ if is_done => Next,
        StepKind::Run { .. } => Do("start the run", start),
        StepKind::Command { .. } => Do("run the command", start),
        StepKind::Quiz(Quiz::Choices(_)) => Do("answer", |model, here| {
            let place = model.step.as_ref().and_then(|view| view.choice);
            let choice = place.and_then(|place| model.order_at(&here.at).get(place).copied());
            let Some(choice) = choice else {
                return model.notify("Move to an answer first, with the arrow keys or its number.");
            };
            request(SessionRequest::Answer(
                here.at.clone(),
                QuizAnswer::QuizChoice(choice),
            ))
        }),
        StepKind::Quiz(Quiz::NumberQuestion(_)) => Do("give a number", ask::number),
        StepKind::Compare { .. } => Do("show the figures", act::view),
        StepKind::Profile { .. } => {
            let profile = &model.step.as_ref()?.profile;
            match &profile.prepared {
                _ if profile.is_running => return None,
                Some(Ok(prepared)) if prepared.is_installed => {
                    Do("run the profiler", |model, here| {
                        profile::run(model, here, false)
                    })
                }
                Some(_) if here.step.golden.import.is_some() => {
                    Do("import the sample", profile::import_sample)
                }
                Some(_) => Do("import a file", profile::import),
                None => return None,
            }
        }
        StepKind::Kernel { .. } => Do("your kernel", act::view),
        StepKind::Reflect => Do("write", ask::reflection),
    })
}
