//! What the session answered.

use std::sync::Arc;

use super::{act, navigate};
use crate::lesson::Verdict;
use crate::tui::keys::Area;
use crate::tui::message::{Effect, News, Reply};
use crate::tui::model::Model;
use crate::tui::model::step::Reveal;
use crate::tui::panels::messages;
use crate::tutor::outcome::Shown;

pub fn reply(model: &mut Model, reply: Reply) -> Vec<Effect> {
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

fn news(model: &mut Model, news: News) -> Vec<Effect> {
    match news {
        News::None => Vec::new(),
        News::Notices(notices) => model.tell(notices.join(" ")),
        News::Failed { message, remedy } => model.warn(format!("{message} {remedy}")),
        // Going on has to wait until the session knows: whether the lesson is finished depends on it.
        News::Skipped(at) => {
            let course = Arc::clone(&model.course);
            let here = model.here(&course).filter(|here| here.at == at);
            here.map_or_else(Vec::new, |here| {
                model.tell("Skipped; come back whenever you like.");
                navigate::next(model, &here)
            })
        }
        News::Marked(at, marked) => {
            if let Some(view) = model.view_at(&at) {
                view.marked = Some(marked);
                view.reveal.set(Some(Reveal::News));
            }
            Vec::new()
        }
        News::Checked { at, outcomes } => {
            let Some(view) = model.view_at(&at) else {
                return Vec::new();
            };
            // The verdicts of a run stand below the text.
            view.panel_open &= view.panel.is_some() || outcomes.is_empty();
            view.reveal.set(Some(Reveal::News));
            let is_missed = |it: &&Shown| it.required && it.verdict != Verdict::Passed;
            let missed = outcomes.iter().filter(is_missed).count();
            view.outcomes = outcomes;
            match missed {
                0 => Vec::new(),
                1 => model.warn("1 check is not met yet. A hint may help."),
                missed => model.warn(format!("{missed} checks are not met yet. A hint may help.")),
            }
        }
        News::Hint { at, hint } => {
            let Some(view) = model.view_at(&at) else {
                return Vec::new();
            };
            view.reveal.set(Some(Reveal::News));
            let Some(hint) = hint else {
                return model.tell("There are no more hints for now.");
            };
            view.hints.push(hint);
            view.panel_open = false;
            Vec::new()
        }
    }
}
