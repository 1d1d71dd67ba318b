//! The file of keys: `area: { action: key }` or `area: { action: [key, key] }`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::Deserialize;

use super::KeyMap;
use super::action::{Action, Area};
use super::key::Key;
use super::list::ACTIONS;

/// Where keys are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// `tinyllama-tutor/keys.yaml` in the configuration folder; none is as good as an empty one.
    Usual,
    /// A file that has to be there.
    Named(PathBuf),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Keys {
    One(String),
    Several(Vec<String>),
}

/// The usual keys with what the file says instead.
///
/// # Errors
/// What is wrong, with file and line.
pub fn load(location: &Location) -> Result<KeyMap, String> {
    let path = match location {
        Location::Named(path) => path.clone(),
        Location::Usual => match usual_path() {
            Some(path) if path.exists() => path,
            _ => return Ok(KeyMap::default()),
        },
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    read(&text, &path)
}

fn usual_path() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(
        strategy
            .config_dir()
            .join("tinyllama-tutor")
            .join("keys.yaml"),
    )
}

fn read(text: &str, path: &Path) -> Result<KeyMap, String> {
    let at = |line: Option<usize>, message: String| match line {
        Some(line) => format!("{}:{line}: {message}", path.display()),
        None => format!("{}: {message}", path.display()),
    };
    let document: BTreeMap<String, BTreeMap<String, Keys>> = if text.trim().is_empty() {
        BTreeMap::new()
    } else {
        serde_yaml::from_str(text).map_err(|error| {
            let line = error.location().map(|location| location.line());
            at(line, error.to_string())
        })?
    };
    let mut map = KeyMap::default();
    for (area_name, actions) in document {
        let Some(area) = Area::ALL.into_iter().find(|area| area.name() == area_name) else {
            let known = Area::ALL.map(Area::name).join(", ");
            let message = format!("there is no area `{area_name}`; there are: {known}");
            return Err(at(line_of(text, &area_name, None), message));
        };
        for (action_name, keys) in actions {
            let line = line_of(text, &area_name, Some(&action_name));
            let Some(action) = find(area, &action_name) else {
                let message = format!(
                    "{area_name} has no action `{action_name}`; it has: {}",
                    names(area)
                );
                return Err(at(line, message));
            };
            let keys = match keys {
                Keys::One(key) => vec![key],
                Keys::Several(keys) => keys,
            };
            let keys: Result<Vec<Key>, String> = keys.iter().map(|key| Key::parse(key)).collect();
            map.set(action, keys.map_err(|message| at(line, message))?);
        }
    }
    match map.conflicts().first() {
        None => Ok(map),
        Some(conflict) => {
            let name = |action: Action| {
                action
                    .spec()
                    .map_or(("", ""), |spec| (spec.area.name(), spec.name))
            };
            let (first, second) = (name(conflict.first), name(conflict.second));
            // One of the two was written in the file: the usual keys have no conflicts.
            let line = line_of(text, second.0, Some(second.1))
                .or_else(|| line_of(text, first.0, Some(first.1)));
            let message = format!(
                "the key `{}` would mean both {} ({}) and {} ({})",
                conflict.key, first.1, first.0, second.1, second.0
            );
            Err(at(line, message))
        }
    }
}

fn find(area: Area, name: &str) -> Option<Action> {
    ACTIONS
        .iter()
        .find(|spec| spec.area == area && spec.name == name)
        .map(|spec| spec.action)
}

fn names(area: Area) -> String {
    let names: Vec<&str> = ACTIONS
        .iter()
        .filter(|spec| spec.area == area)
        .map(|spec| spec.name)
        .collect();
    names.join(", ")
}

/// The line, from 1, where an area, or an action within it, is written.
fn line_of(text: &str, area: &str, action: Option<&str>) -> Option<usize> {
    let is_key = |line: &str, key: &str| {
        line.trim_start()
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(':'))
    };
    let mut lines = text.lines().enumerate();
    let (start, first) = lines.find(|(_, line)| is_key(line, area))?;
    let Some(action) = action else {
        return Some(start + 1);
    };
    if first.contains(&format!("{action}:")) {
        return Some(start + 1);
    }
    lines
        .take_while(|(_, line)| line.trim().is_empty() || line.starts_with([' ', '\t', '#']))
        .find(|(_, line)| is_key(line, action))
        .map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<KeyMap, String> {
        read(text, Path::new("keys.yaml"))
    }

    #[test]
    fn a_file_changes_what_it_names_and_nothing_else() {
        let map = read_text("step:\n  next: [l, ctrl-n]\neverywhere:\n  quit: ctrl-q\n").unwrap();
        let key = |text| Key::parse(text).unwrap();
        assert_eq!(map.action(&[Area::Step], key("ctrl-n")), Some(Action::Next));
        assert_eq!(map.action(&[Area::Step], key("n")), None);
        assert_eq!(map.action(&[Area::Step], key("p")), Some(Action::Previous));
        assert_eq!(map.shown(Action::Quit).as_deref(), Some("ctrl-q"));
        assert_eq!(read_text("").unwrap(), KeyMap::default());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, place, words) in [
            (
                "step:\n  next: p\n",
                "keys.yaml:2",
                "`p` would mean both next (step) and previous (step)",
            ),
            ("step:\n  hint: q\n", "keys.yaml:2", "quit (everywhere)"),
            ("step:\n  nxet: n\n", "keys.yaml:2", "no action `nxet`"),
            ("steps:\n  next: n\n", "keys.yaml:1", "no area `steps`"),
            ("step:\n  next: ctrl-\n", "keys.yaml:2", "is no key"),
            ("step: [n]\n", "keys.yaml:1", "invalid type"),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.starts_with(place), "{text}: {error}");
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
