//! What the session answered.

use std::sync::Arc;

use super::{act, navigate, runs};
use crate::lesson::Verdict;
use crate::session::turns::{self, Turn};
use crate::session::{Checked, StepRef};
use crate::tui::panels::messages;
use crate::tui::{Area, Effect, Effects, Model, News, Phase, Reply, Reveal, both};

pub fn reply(model: &mut Model, reply: Reply) -> Effects {
    let known = model.state.messages.len();
    let state = Arc::make_mut(&mut model.state);
    reply.records.iter().for_each(|record| state.apply(record));
    let arrived = model.state.messages.len().saturating_sub(known);
    model.unsaved = reply.unsaved;
    if let Some(measured) = reply.measured {
        model.measured = measured;
        act::rebuild_comparison(model);
    }
    if arrived > 0 {
        let key = model.keys.shown(Area::Everywhere, messages::ACTION);
        model.tell(format!("A message for you: press {key} to read it."));
    }
    news(model, reply.news)
}

/// Another round, where the checks of a run that has just ended leave it open which is faster.
fn turn(model: &Model, at: &StepRef, outcomes: &[Checked]) -> Option<Turn> {
    let step = model.course.step(&at.lesson, &at.step)?;
    let run = model.run_at(at)?;
    let is_over = matches!(run.phase, Phase::Over(_)) && model.running().is_none();
    let next = || turns::next(&model.course, &model.state, &model.measured, step, outcomes);
    is_over.then(next).flatten()
}

fn take_turn(model: &mut Model, turn: Turn) -> Effects {
    match turn {
        Turn::Enough(words) => model.tell(words),
        Turn::Again { runs, round } => {
            let mut both_runs = Some(Box::new(runs.clone()));
            let [mut first, second] =
                runs.map(|run| runs::queue_with(model, run.at, run.flags, None));
            for effect in first.iter_mut().flatten() {
                if let Effect::StartRun { round, .. } = effect {
                    *round = both_runs.take();
                }
            }
            let effects = both(first, second);
            model.tell(format!(
                "Not decided yet: both once more, in turns (round {round})."
            ));
            effects
        }
    }
}

/// The figures of a step's run show the verdicts, too.
fn judge(model: &mut Model, at: &StepRef, outcomes: Vec<Checked>) {
    let mut runs = model.runs.iter_mut().rev();
    if let Some(run) = runs.find(|run| run.at == *at) {
        run.view.judged(outcomes);
    }
}

fn news(model: &mut Model, news: News) -> Effects {
    match news {
        News::None => None,
        News::Notices(notices) => model.tell(notices.join(" ")),
        News::Failed { message, remedy } => model.warn(format!("{message} {remedy}")),
        // Going on has to wait until the session knows: whether the lesson is finished depends on it.
        News::Skipped(at) => {
            let course = Arc::clone(&model.course);
            let here = model.here(&course).filter(|here| here.at == at)?;
            model.tell("Skipped; come back whenever you like.");
            navigate::next(model, &here)
        }
        News::Marked(at, marked) => {
            if marked.is_none() {
                return model.tell("This question is about what a command says: run it first.");
            }
            if let Some(view) = model.view_at(&at) {
                view.marked = marked;
                view.reveal.set(Some(Reveal::News));
            }
            None
        }
        News::Checked { at, outcomes } => {
            let view = model.view_at(&at)?;
            view.reveal.set(Some(Reveal::News));
            let turn = turn(model, &at, &outcomes);
            let view = model.view_at(&at)?;
            let is_missed = |it: &&Checked| it.required && it.verdict != Verdict::Passed;
            let missed = outcomes.iter().filter(is_missed).count();
            view.outcomes.clone_from(&outcomes);
            judge(model, &at, outcomes);
            match missed {
                0 => take_turn(model, turn?),
                1 => model.warn("1 check is not met yet. A hint may help."),
                missed => model.warn(format!("{missed} checks are not met yet. A hint may help.")),
            }
        }
        News::Looked { at, outcomes } => {
            if let Some(view) = model.view_at(&at) {
                view.outcomes.clone_from(&outcomes);
            }
            judge(model, &at, outcomes);
            None
        }
        News::Hint { at, hint } => {
            let view = model.view_at(&at)?;
            view.reveal.set(Some(Reveal::News));
            let Some(hint) = hint else {
                return model.tell("There are no more hints for now.");
            };
            view.hints.push(hint);
            view.panel_open = false;
            None
        }
    }
}
