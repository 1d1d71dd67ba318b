//! Keys as data: which key means which action on which screen. The command bar and the help page are made from the same
//! list, so neither can drift from what the keys do.

pub mod action;
mod file;
pub mod key;
mod list;

use std::collections::HashMap;

pub use action::{Action, Area, Spec};
pub use file::{Location, load};
pub use key::Key;
pub use list::ACTIONS;

/// The keys in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMap {
    keys: HashMap<Action, Vec<Key>>,
}

/// One key that would mean two things at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub key: Key,
    pub first: Action,
    pub second: Action,
}

impl Default for KeyMap {
    fn default() -> Self {
        let keys = ACTIONS.iter().map(|spec| {
            let keys = spec.keys.iter().filter_map(|text| Key::parse(text).ok());
            (spec.action, keys.collect())
        });
        Self {
            keys: keys.collect(),
        }
    }
}

impl KeyMap {
    /// What `key` means where `areas` are in view, the innermost first.
    pub fn action(&self, areas: &[Area], key: Key) -> Option<Action> {
        areas.iter().find_map(|area| {
            ACTIONS
                .iter()
                .filter(|spec| spec.area == *area)
                .find(|spec| self.of(spec.action).contains(&key))
                .map(|spec| spec.action)
        })
    }

    /// The keys of an action, the one to show first.
    pub fn of(&self, action: Action) -> &[Key] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The key to show; none where the action has none.
    pub fn shown(&self, action: Action) -> Option<String> {
        self.of(action).first().map(ToString::to_string)
    }

    fn set(&mut self, action: Action, keys: Vec<Key>) {
        self.keys.insert(action, keys);
    }

    /// Keys that mean two things on one screen, in the order of the actions.
    fn conflicts(&self) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        for (index, first) in ACTIONS.iter().enumerate() {
            for second in ACTIONS.iter().skip(index + 1) {
                if !first.area.meets(second.area) {
                    continue;
                }
                let both = self
                    .of(first.action)
                    .iter()
                    .filter(|key| self.of(second.action).contains(key));
                conflicts.extend(both.map(|key| Conflict {
                    key: *key,
                    first: first.action,
                    second: second.action,
                }));
            }
        }
        conflicts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_keys_are_readable_unambiguous_and_every_action_has_one() {
        let map = KeyMap::default();
        assert_eq!(map.conflicts(), []);
        for spec in ACTIONS {
            assert!(!map.of(spec.action).is_empty(), "{}", spec.name);
            assert_eq!(map.of(spec.action).len(), spec.keys.len(), "{}", spec.name);
        }
    }

    #[test]
    fn an_inner_panel_comes_before_the_screen_around_it() {
        let map = KeyMap::default();
        let down = Key::parse("down").unwrap();
        assert_eq!(map.action(&[Area::Step], down), Some(Action::Down));
        assert_eq!(
            map.action(&[Area::Panel, Area::Step, Area::Everywhere], down),
            Some(Action::PanelDown)
        );
        let quit = Key::parse("q").unwrap();
        assert_eq!(
            map.action(&[Area::Step, Area::Everywhere], quit),
            Some(Action::Quit)
        );
        assert_eq!(map.action(&[Area::Step], quit), None);
    }
}
