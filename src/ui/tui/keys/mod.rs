//! Keys as data: they map to actions per screen. The command bar and the help page are made from this list, so they
//! always agree with what the keys do.

mod area;
mod file;
mod key;

pub use area::Area;
pub use file::load;
pub use key::Key;
use tinyllama_tutor_core::Action;

/// An action in an area, with its description and its keys. The first key is the one to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub area: Area,
    pub action: Action,
    pub keys: Vec<Key>,
    pub does: &'static str,
}

/// The keys in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMap {
    bindings: Vec<Binding>,
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
    fn conflict(&self) -> Option<(Key, &Binding, &Binding)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_tutor_core::PanelAction;

    #[test]
    fn the_usual_keys_are_readable_unambiguous_and_every_action_has_one() {
        let map = KeyMap::default();
        assert_eq!(map.conflict(), None);
        for binding in &map.bindings {
            let name = (binding.area, binding.action);
            assert!(!binding.keys.is_empty(), "{name:?}");
            let named: Vec<_> = map
                .bindings_in(binding.area)
                .filter(|other| other.action.name() == binding.action.name())
                .collect();
            assert_eq!(named.len(), 1, "{name:?}");
        }
    }

    #[test]
    fn an_inner_panel_comes_before_the_screen_around_it() {
        let map = KeyMap::default();
        let find = |areas: &[Area], key: &str| {
            let binding = map.find(areas, Key::parse(key).unwrap())?;
            Some((binding.area, binding.action))
        };
        let down = Action::Move(PanelAction::Down);
        assert_eq!(find(&[Area::Step], "down"), Some((Area::Step, down)));
        assert_eq!(
            find(&[Area::Panel, Area::Step, Area::Everywhere], "down"),
            Some((Area::Panel, down))
        );
        assert_eq!(
            find(&[Area::Step, Area::Everywhere], "q"),
            Some((Area::Everywhere, Action::Quit))
        );
        assert_eq!(find(&[Area::Step], "q"), None);
    }
}
