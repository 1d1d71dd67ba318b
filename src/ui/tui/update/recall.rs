//! Asks earlier questions again, one after the other. Each appears as its own step, without its answer.

use super::navigate;
use super::request::{note_time, request};
use crate::tui::model::step::Recall;
use crate::tui::{Effects, FocusedScreen, Model, SessionRequest, StepView};
use tinyllama_session::{StepRef, recall};
use tinyllama_tutor_core::document::Given;

/// Asks questions if some were answered before, and then opens a step, or else the outline.
pub fn ask(model: &mut Model, then: Option<StepRef>) -> Effects {
    let left = recall::questions(&model.course, &model.state);
    let recall = Recall {
        of: left.len(),
        left,
        answered: 0,
        right: 0,
        then,
    };
    match recall.of {
        0 => None,
        _ => go_on(model, recall),
    }
}

/// Opens the next question, or tells how many answers were right.
pub fn go_on(model: &mut Model, mut recall: Recall) -> Effects {
    let mut effects: Vec<_> = note_time(model).into_iter().collect();
    if recall.left.is_empty() {
        model.step = None;
        model.screen = FocusedScreen::Outline;
        let then = recall.then.and_then(|at| navigate::open_now(model, at));
        effects.extend(then.into_iter().flatten());
        model.notify(match recall.answered {
            0 => "No earlier question was answered; they come again.".into(),
            answered => format!("Earlier questions: {} of {answered} right.", recall.right),
        });
        return Some(effects);
    }
    model.clear_overlays();
    model.screen = FocusedScreen::Step;
    model.step = Some(StepView {
        at: recall.left.remove(0),
        recall: Some(recall),
        ..StepView::default()
    });
    Some(effects)
}

/// Hands the learner's input at a step to the session.
pub fn give(model: &Model, at: StepRef, given: Given) -> Effects {
    let view = model.step.as_ref().filter(|view| view.at == at);
    request(match given {
        Given::Answer(answer) if view.is_some_and(|view| view.recall.is_some()) => {
            SessionRequest::Recall(at, answer)
        }
        given => SessionRequest::Give(at, given),
    })
}
