//! Handles replies of the session.

use std::sync::Arc;

use super::{act, navigate, runs};
use crate::tui::panels::messages;
use crate::tui::{
    Area, Effect, Effects, FocusedScreen, Model, News, Reply, Reveal, Round, RunPhase, both_effects,
};
use tinyllama_base::plural;
use tinyllama_lesson::{Step, Verdict};
use tinyllama_session::order::OutsideChange;
use tinyllama_session::runs::MOST_ROUNDS;
use tinyllama_session::turns::{self, TurnAction};
use tinyllama_session::{CheckResultText, Record, Scope, SessionEvent, Standing, StepRef};
use tinyllama_tutor_core::Action;

pub fn reply(model: &mut Model, mut reply: Reply) -> Effects {
    let known = model.state.messages.len();
    let state = Arc::make_mut(&mut model.state);
    reply.records.iter().for_each(|record| state.apply(record));
    leave_finished_step(model, &reply.records);
    forget_old_answer(model, &reply.records);
    let arrived = model.state.messages.len().saturating_sub(known);
    model.unsaved = reply.unsaved;
    if let Some(measured) = reply.measured {
        model.measured = measured;
        act::rebuild_comparison(model);
    }
    if arrived > 0 {
        let key = model.keys.shown(Area::Everywhere, messages::ACTION);
        model.notify(format!("A message for you: press {key} to read it."));
    }
    let mut done = reply.records.iter().map(|record| record.event.ordered());
    let is_pin = |event: &SessionEvent| {
        matches!(
            event,
            SessionEvent::Pinned {
                lesson: Some(_),
                ..
            }
        )
    };
    if let (News::Notices(notices), true) = (&mut reply.news, done.any(is_pin))
        && let Some(newest) = notices.last_mut()
    {
        let key = model.keys.shown(Area::Everywhere, Action::ClassLesson);
        newest.push_str(&format!(" {key} goes there."));
    }
    let begun = begin_again(model, &reply.records);
    both_effects(begun, news(model, reply.news))
}

/// Leaves the step of a lesson that an instructor has emptied, for the lesson's first one.
fn begin_again(model: &mut Model, records: &[Record]) -> Effects {
    let at = model.step.as_ref()?.at.clone();
    let empties = |event: &SessionEvent| match event {
        SessionEvent::Reset { scope, .. } => {
            matches!(scope, Scope::Lessons(_) | Scope::All) && scope.covers(&at.lesson, &at.step)
        }
        _ => false,
    };
    let mut done = records.iter().map(|record| record.event.ordered());
    if !done.any(empties) || model.running().is_some() {
        return None;
    }
    match model.screen {
        FocusedScreen::Step => navigate::open_lesson(model, &at.lesson),
        FocusedScreen::Outline => {
            model.step = None;
            None
        }
    }
}

/// Moves the cursor of a case off a finished item, and off every item once the case is solved. Enter then leads on.
fn leave_finished_step(model: &mut Model, records: &[Record]) {
    let is_open = |at: &StepRef| model.step.as_ref().is_some_and(|view| view.at == *at);
    let is_over = records
        .iter()
        .any(|record| matches!(&record.event, SessionEvent::StepDone { at } if is_open(at)));
    let is_news = records.iter().any(|record| match &record.event {
        SessionEvent::RunFinished { .. } | SessionEvent::Suspected { .. } => true,
        SessionEvent::Answered { given, .. } => given.correct,
        _ => false,
    });
    // The cursor of a question stays on the answer.
    let step = model.open_step(&model.course).map(|here| here.step);
    let is_case = step.is_some_and(|step| step.as_case().is_some());
    if is_case
        && (is_over || is_news)
        && let Some(view) = &mut model.step
    {
        view.choice = None;
    }
}

/// Takes the marks of an answer off the open step once an instructor reset or did it.
fn forget_old_answer(model: &mut Model, records: &[Record]) {
    let Some(view) = &mut model.step else {
        return;
    };
    let mut changes = records
        .iter()
        .map(|it| OutsideChange::Done(it.event.clone()));
    if changes.any(|change| change.touches(&view.at)) {
        (view.marked, view.choice) = (None, None);
        view.hints.clear();
        view.outcomes.clear();
    }
}

/// The next round, if the checks of a run that has just ended cannot decide which one is faster.
fn turn(
    model: &Model,
    at: &StepRef,
    outcomes: &[CheckResultText],
    asked: bool,
) -> Option<TurnAction> {
    let step = model.course.step(&at.lesson, &at.step)?;
    let run = model.run_at(at)?;
    let is_over = matches!(run.phase, RunPhase::Over(_)) && model.running().is_none();
    // A learner who asked for the first round asked for all of them.
    let asked = asked || run.view.state.context.round.is_some();
    let next = || {
        turns::next(
            &model.course,
            &model.state,
            &model.measured,
            step,
            outcomes,
            asked,
        )
    };
    is_over.then(next).flatten()
}

fn is_unsolved_case(model: &Model, at: &StepRef) -> bool {
    let step = model.course.step(&at.lesson, &at.step);
    step.and_then(Step::as_case).is_some_and(|case| {
        let progress = model.progress_at(at);
        !Standing::from_progress(case, &progress, &model.state).is_solved(case)
    })
}

fn take_turn(model: &mut Model, turn: TurnAction) -> Effects {
    match turn {
        TurnAction::Enough(text) => model.notify(text),
        TurnAction::Again {
            runs,
            round,
            required,
        } => {
            let mut of = runs.iter().filter_map(|run| model.run_at(&run.at));
            let before = of.find_map(|run| run.view.state.context.round);
            let note = Round {
                number: round,
                made: before.map_or(0, |before| before.made + 1),
                since: before.map_or(model.now, |before| before.since),
                seconds: 0.0,
                required,
            };
            let note = Round {
                seconds: model.now.saturating_sub(note.since).as_secs_f64(),
                ..note
            };
            let mut both_runs = Some(Box::new(runs.clone()));
            let [mut first, second] =
                runs.map(|run| runs::queue_with(model, run.at, run.flags, None));
            for effect in first.iter_mut().flatten() {
                if let Effect::StartRun { round, .. } = effect {
                    *round = both_runs.take();
                }
            }
            for run in model.runs.iter_mut().rev().take(2) {
                run.view.state.context.round = Some(note);
            }
            let effects = both_effects(first, second);
            model.notify(format!(
                "Not decided yet: both run again, in turns (round {round} of at most {MOST_ROUNDS})."
            ));
            effects
        }
    }
}

/// The figures of the run show the verdicts, too.
fn judge(model: &mut Model, at: &StepRef, outcomes: Vec<CheckResultText>) {
    let outcome = runs::prediction_outcome(model, at);
    let mut runs = model.runs.iter_mut().rev();
    if let Some(run) = runs.find(|run| run.at == *at) {
        run.view.state.verdicts = outcomes;
        run.view.state.prediction_outcome = outcome;
        run.view.state.to_before = runs::compare_with_last(&model.measured, run);
    }
}

/// The newest notice in full: the status has no room for several, and the page of messages keeps all.
fn newest_notice(notices: &[String], key: &str) -> String {
    match notices.split_last() {
        Some((newest, [])) => newest.clone(),
        Some((newest, before)) => {
            let before = plural(before.len(), "message");
            format!("{newest} {before} came before it: press {key}.")
        }
        None => String::new(),
    }
}

fn news(model: &mut Model, news: News) -> Effects {
    match news {
        News::None => None,
        News::Notices(notices) => {
            let key = model.keys.shown(Area::Everywhere, messages::ACTION);
            model.notify(newest_notice(&notices, &key))
        }
        News::Failed { message, remedy } => model.warn(format!("{message} {remedy}")),
        // The lesson may be finished only once the session knows of the skip, so going on waits for its reply.
        News::Skipped(at) => {
            let course = Arc::clone(&model.course);
            let here = model.open_step(&course).filter(|here| here.at == at)?;
            model.notify("Skipped; you can come back at any time.");
            navigate::next(model, &here)
        }
        News::Marked(at, marked) => {
            if marked.is_none() {
                return model
                    .notify("This question is about the output of a command: run it first.");
            }
            if let Some(view) = model.view_at(&at) {
                view.marked = marked;
                view.reveal.set(Some(Reveal::News));
            }
            None
        }
        News::Checked {
            at,
            outcomes,
            asked,
        } => {
            let view = model.view_at(&at)?;
            view.reveal.set(Some(Reveal::News));
            let taken = turn(model, &at, &outcomes, asked);
            let offered = taken.is_none() && turn(model, &at, &outcomes, true).is_some();
            // A measurement of a case is no attempt at its checks, which its fix decides.
            let is_judged = asked || !is_unsolved_case(model, &at);
            let view = model.view_at(&at)?;
            // What only a GPU can show holds no one up.
            let is_missed = |it: &&CheckResultText| {
                it.required && !matches!(it.verdict, Verdict::Passed | Verdict::NotEvaluated)
            };
            let missed: Vec<_> = outcomes.iter().filter(is_missed).collect();
            let is_undecided = missed.iter().all(|it| it.verdict == Verdict::Inconclusive);
            let missed = missed.len();
            view.outcomes.clone_from(&outcomes);
            judge(model, &at, outcomes);
            match missed {
                0 if offered => {
                    let key = model.keys.shown(Area::Step, Action::Check);
                    model.notify(format!(
                        "One effect is undecided, and not required here. {key} repeats both runs in turns."
                    ))
                }
                0 => take_turn(model, taken?),
                _ if !is_judged => None,
                _ if is_undecided => {
                    model.warn("Nothing is decided yet; each check says what it needs.")
                }
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
                return model.notify("There are no more hints for now.");
            };
            view.hints.push(hint);
            view.panel_open = false;
            None
        }
    }
}
