//! Translates keys to the actions of the current area.

use crossterm::event::KeyCode::{Char, Enter};
use crossterm::event::{KeyEvent, KeyEventKind};

use super::request::request;
use super::{act, ask, navigate, palette, runs, scroll};
use crate::tui::{Area, Confirm, Effects, Key, Model, Overlay, SessionRequest, both_effects};
use tinyllama_tutor_core::{Action, PanelAction};

pub fn key(model: &mut Model, event: KeyEvent) -> Effects {
    if event.kind == KeyEventKind::Release {
        model.dirty = false;
        return None;
    }
    let life = record_activity(model);
    let key = Key::from_event(&event);
    // While the learner types, a notice that arrives stays visible.
    let types = matches!(model.overlay, Some(Overlay::Ask(_)));
    let had_notice = !types && model.notice.take().is_some();
    let done = match model.overlay {
        Some(Overlay::Ask(_)) => ask::key(model, event),
        Some(Overlay::Palette(_)) => palette::key(model, event),
        Some(Overlay::Confirm(confirm)) => confirmed(model, confirm, key),
        Some(Overlay::Panel(_)) | None => {
            if let Some(effects) = scroll::search_key(model, key) {
                return both_effects(life, effects);
            }
            let binding = model.keys.find(&model.areas(), key);
            let found = binding.map(|binding| (binding.area, binding.action));
            if let Some((area, action)) = found {
                model.carry_out(area, action)
            } else if matches!(key.code, Char('0'..='9')) && ask::open_for_number(model) {
                // Who knows the number types it before the line for it is open.
                ask::key(model, event)
            } else {
                let is_choice = navigate::to_choice(model, key);
                let is_unknown = !is_choice && matches!(key.code, Char(_));
                if is_unknown {
                    let help = model.keys.shown(Area::Everywhere, Action::Help);
                    model.notify(format!("Nothing is on {key} here; {help} lists the keys."));
                }
                model.dirty = is_choice || is_unknown || had_notice;
                None
            }
        }
    };
    both_effects(life, done)
}

fn record_activity(model: &mut Model) -> Effects {
    let seconds = model.attention.key(model.now);
    let at = model.step.as_ref()?.at.clone();
    request(SessionRequest::Spend(at, seconds?))
}

fn confirmed(model: &mut Model, confirm: Confirm, key: Key) -> Effects {
    model.pop_overlay();
    if !matches!(key.code, Char('y' | 'Y') | Enter) {
        return None;
    }
    match confirm {
        Confirm::Stop(id) => runs::stop(model, id),
        Confirm::Quit => act::leave(model),
        Confirm::Remove => scroll::in_panel(model, PanelAction::Remove),
    }
}
