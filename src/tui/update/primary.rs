//! What Enter does at a step: always the one thing the step waits for.

use super::{act, ask, navigate, profile, runs};
use crate::lesson::StepKind;
use crate::lesson::quiz::{Answer, Quiz};
use crate::session::state::Status;
use crate::tui::actions::carry_out;
use crate::tui::keys::{Action, Area};
use crate::tui::message::{Effect, Request};
use crate::tui::model::run::Phase;
use crate::tui::model::{Here, Model};

pub enum Primary {
    /// On to the next step.
    Next,
    /// Something else, in words for the command bar.
    Do(&'static str, fn(&mut Model, &Here) -> Vec<Effect>),
}

use Primary::{Do, Next};

impl Primary {
    pub fn does(&self) -> &'static str {
        match self {
            Next => "next step",
            Do(does, _) => does,
        }
    }

    pub fn act(self, model: &mut Model, here: &Here) -> Vec<Effect> {
        match self {
            Next => navigate::next(model, here),
            Do(_, act) => act(model, here),
        }
    }
}

/// None while the step waits for something else.
pub fn primary(model: &Model, here: &Here) -> Option<Primary> {
    let progress = model.progress_at(&here.at);
    let is_done = progress.status == Status::Done;
    Some(match &here.step.kind {
        StepKind::Read => Next,
        StepKind::Predict { .. } if progress.prediction.is_some() => Next,
        StepKind::Predict { .. } => Do("guess", ask::guess),
        StepKind::Run { .. } => match model.run_at(&here.at).map(|run| &run.phase) {
            Some(Phase::Queued) => return None,
            Some(Phase::Running | Phase::Stopping) => Do("watch the run", act::view),
            _ if is_done => Next,
            _ => Do("start the run", |model, here| {
                runs::start(model, here.at.clone())
            }),
        },
        _ if is_done => Next,
        StepKind::Quiz(Quiz::Choices(_)) => Do("answer", |model, here| {
            let choice = model.step.as_ref().map_or(0, |view| view.choice);
            let answer = Answer::Choice(choice);
            vec![Effect::Session(Request::Answer(here.at.clone(), answer))]
        }),
        StepKind::Quiz(Quiz::Number(_)) => Do("give a number", ask::number),
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
                Some(_) => Do("import a file", profile::import),
                None => return None,
            }
        }
        StepKind::Kernel { file } if model.workbench.join(file).exists() => {
            Do("open in your editor", act::edit)
        }
        StepKind::Kernel { .. } => Do("this project's kernels", |model, _| {
            carry_out(model, Area::Everywhere, Action::Panel("kernels"))
        }),
        StepKind::Reflect => Do("write", ask::reflection),
    })
}
