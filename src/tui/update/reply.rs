//! What the session answered.

use super::{act, navigate, scroll};
use crate::tui::message::{Effect, News, Reply};
use crate::tui::model::Model;
use crate::tui::model::step::Marked;
use crate::tutor::outcome::Mark;

pub fn reply(model: &mut Model, reply: Reply) -> Vec<Effect> {
    let messages = reply.state.messages.len();
    let arrived = messages.saturating_sub(model.state.messages.len());
    model.state = reply.state;
    model.unsaved = reply.unsaved;
    if let Some(measured) = reply.measured {
        model.measured = measured;
        act::rebuild_comparison(model);
    }
    if arrived > 0 {
        let key = model
            .keys
            .shown(crate::tui::keys::Action::Messages)
            .unwrap_or_default();
        model.tell(format!("A message for you: press {key} to read it."));
    }
    // Going on has to wait until the session knows: whether the lesson is finished depends on it.
    if let News::Skipped(at) = &reply.news
        && model.step.as_ref().is_some_and(|view| view.at == *at)
    {
        model.tell("Skipped; come back whenever you like.");
        return navigate::next(model);
    }
    news(model, reply.news);
    Vec::new()
}

fn news(model: &mut Model, news: News) {
    let open = model.step.as_ref().map(|view| view.at.clone());
    match news {
        News::None => {}
        News::Marked {
            at,
            answer,
            correct,
            because,
        } if open.as_ref() == Some(&at) => {
            if let Some(view) = &mut model.step {
                view.marked = Some(Marked {
                    answer,
                    correct,
                    because,
                });
            }
            scroll::to_news(model);
        }
        News::Checked { at, outcomes } if open.as_ref() == Some(&at) => {
            let missed = outcomes
                .iter()
                .filter(|outcome| outcome.required && outcome.mark != Mark::Passed)
                .count();
            if let Some(view) = &mut model.step {
                let is_run = view.compare.is_none() && view.profile.panel.is_none();
                // The verdicts stand below the text.
                view.panel_open &= !is_run || outcomes.is_empty();
                view.outcomes = outcomes;
            }
            if missed > 0 {
                let checks = if missed == 1 {
                    "check is"
                } else {
                    "checks are"
                };
                model.warn(format!("{missed} {checks} not met yet. A hint may help."));
            }
            scroll::to_news(model);
        }
        News::Hint { at, hint } if open.as_ref() == Some(&at) => {
            match hint {
                Some(hint) => {
                    if let Some(view) = &mut model.step {
                        view.hints.push(hint);
                        view.panel_open = false;
                    }
                }
                None => model.tell("There are no more hints for now."),
            }
            scroll::to_news(model);
        }
        News::Skipped(_) | News::Marked { .. } | News::Checked { .. } | News::Hint { .. } => {}
        News::Notices(notices) => model.tell(notices.join(" ")),
        News::Failed { message, remedy } => model.warn(format!("{message} {remedy}")),
    }
}
