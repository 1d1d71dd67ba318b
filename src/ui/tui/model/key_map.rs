//! The key map: which key does what in which area. The command bar, the palette and the help page are made from it, so they
//! always agree with what the keys do.

use std::sync::Arc;

use super::{FocusedScreen, Model, OpenStep};
use crate::tui::{Area, Effects, Key};
use tinyllama_tutor_core::{Action, PanelAction};

/// An action, its usual keys, its description, and its function.
pub type KeyBinding = (Action, &'static str, &'static str, Handler);

/// The function of an action.
#[derive(Clone, Copy, Debug)]
pub enum Handler {
    Any(fn(&mut Model) -> Effects),
    /// Needs an open step.
    Step(fn(&mut Model, &OpenStep) -> Effects),
    /// Moves by the action's motion.
    Motion(fn(&mut Model, PanelAction) -> Effects),
}

/// An action in an area, with its description and its keys. The first key is the one to show.
#[derive(Clone, Debug)]
pub struct Binding {
    pub area: Area,
    pub action: Action,
    pub keys: Vec<Key>,
    pub does: &'static str,
    pub handler: Handler,
}

/// The keys in use.
#[derive(Clone, Debug)]
pub struct KeyMap {
    pub(in crate::tui) bindings: Vec<Binding>,
}

impl KeyMap {
    /// The order of `bindings` is the order of the help page.
    pub fn new(bindings: Vec<Binding>) -> Self {
        Self { bindings }
    }

    /// All bindings of an area.
    pub fn bindings_in(&self, area: Area) -> impl Iterator<Item = &Binding> {
        let bindings = self.bindings.iter();
        bindings.filter(move |binding| binding.area == area)
    }

    /// The binding of `key` if `areas` are visible, the innermost first.
    pub fn find(&self, areas: &[Area], key: Key) -> Option<&Binding> {
        areas.iter().find_map(|area| {
            let mut bindings = self.bindings_in(*area);
            bindings.find(|binding| binding.keys.contains(&key))
        })
    }

    pub fn binding(&self, area: Area, action: Action) -> Option<&Binding> {
        self.bindings_in(area)
            .find(|binding| binding.action == action)
    }

    /// The key to show; empty if the action has none.
    pub fn shown(&self, area: Area, action: Action) -> String {
        let binding = self.binding(area, action);
        let key = binding.and_then(|binding| binding.keys.first());
        key.map(ToString::to_string).unwrap_or_default()
    }

    /// The first key with two meanings on one screen, in the order of the actions.
    pub fn conflict(&self) -> Option<(Key, &Binding, &Binding)> {
        self.bindings.iter().enumerate().find_map(|(index, first)| {
            let others = self.bindings.iter().skip(index + 1);
            let mut met = others.filter(|second| first.area.overlaps(second.area));
            met.find_map(|second| {
                let both = first.keys.iter().find(|key| second.keys.contains(key));
                both.map(|key| (*key, first, second))
            })
        })
    }
}

impl Model {
    /// The areas whose keys apply, the innermost first.
    pub fn areas(&self) -> Vec<Area> {
        match (self.top_panel(), self.screen) {
            (Some(panel), _) => vec![panel.area(), Area::Everywhere],
            (_, FocusedScreen::Outline) => vec![Area::Outline, Area::Everywhere],
            (_, FocusedScreen::Step) if self.has_panel_open() => {
                vec![Area::Panel, Area::Step, Area::Everywhere]
            }
            (_, FocusedScreen::Step) => vec![Area::Step, Area::Everywhere],
        }
    }

    /// Carries out an action of an area, for a key or for the palette.
    pub fn carry_out(&mut self, area: Area, action: Action) -> Effects {
        match (self.keys.binding(area, action)?.handler, action) {
            (Handler::Any(act), _) => act(self),
            (Handler::Step(act), _) => {
                let course = Arc::clone(&self.course);
                let here = self.open_step(&course)?;
                act(self, &here)
            }
            (Handler::Motion(act), Action::Move(motion)) => act(self, motion),
            (Handler::Motion(_), _) => None,
        }
    }
}
