//! Reads the file of keys: `area: { action: key }` or `area: { action: [key, key] }`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::Deserialize;

use super::{Area, Key};
use crate::tui::KeyMap;

#[derive(Deserialize)]
#[serde(untagged)]
enum Keys {
    One(String),
    Several(Vec<String>),
}

/// Returns the default keys with the changes of a file. The file is `named`, which has to exist, or
/// `tinyllama-tutor/keys.yaml` in the configuration folder. A missing default file changes nothing.
///
/// # Errors
/// The problem, with file and line.
pub fn load(named: Option<&Path>) -> Result<KeyMap, String> {
    let usual = || usual_path().filter(|path| path.exists());
    let Some(path) = named.map(Path::to_owned).or_else(usual) else {
        return Ok(KeyMap::default());
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    read(&text, &path)
}

fn usual_path() -> Option<PathBuf> {
    let folder = etcetera::choose_base_strategy().ok()?.config_dir();
    Some(folder.join("tinyllama-tutor").join("keys.yaml"))
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
        let Some(area) = Area::of_name(&area_name) else {
            let known = Area::ALL.map(Area::name).join(", ");
            let message = format!("there is no area `{area_name}`; there are: {known}");
            return Err(at(line_of(text, &area_name, None), message));
        };
        for (name, keys) in actions {
            let line = line_of(text, &area_name, Some(&name));
            let mut bindings = map.bindings.iter_mut();
            let of_name = bindings.find(|it| it.area == area && it.action.name() == name);
            let Some(binding) = of_name else {
                let known: Vec<_> = map.bindings_in(area).map(|it| it.action.name()).collect();
                let known = known.join(", ");
                let message = format!("{area_name} has no action `{name}`; it has: {known}");
                return Err(at(line, message));
            };
            let keys = match keys {
                Keys::One(key) => vec![key],
                Keys::Several(keys) => keys,
            };
            let keys: Result<Vec<Key>, String> = keys.iter().map(|key| Key::parse(key)).collect();
            binding.keys = keys.map_err(|message| at(line, message))?;
        }
    }
    let Some((key, first, second)) = map.conflict() else {
        return Ok(map);
    };
    let [first, second] = [first, second].map(|it| (it.area.name(), it.action.name()));
    // The default keys have no conflicts, so the file contains at least one of the two.
    let line =
        line_of(text, second.0, Some(&second.1)).or_else(|| line_of(text, first.0, Some(&first.1)));
    let message = format!(
        "the key `{key}` would mean both {} ({}) and {} ({})",
        first.1, first.0, second.1, second.0
    );
    Err(at(line, message))
}

/// The line, from 1, of an area or of an action within it.
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
    use tinyllama_tutor_core::Action;

    fn read_text(text: &str) -> Result<KeyMap, String> {
        read(text, Path::new("keys.yaml"))
    }

    #[test]
    fn a_key_file_changes_only_the_keys_it_names() {
        let map = read_text("step:\n  next: [l, ctrl-n]\neverywhere:\n  quit: ctrl-q\n").unwrap();
        let at_a_step = |text| {
            let binding = map.find(&[Area::Step], Key::parse(text).unwrap());
            binding.map(|binding| binding.action)
        };
        assert_eq!(at_a_step("ctrl-n"), Some(Action::Next));
        assert_eq!(at_a_step("n"), None);
        assert_eq!(at_a_step("p"), Some(Action::Previous));
        assert_eq!(map.shown(Area::Everywhere, Action::Quit), "ctrl-q");
        let keys = |map: KeyMap| {
            let bindings = map.bindings.into_iter();
            bindings
                .map(|binding| (binding.action, binding.keys))
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(read_text("").unwrap()), keys(KeyMap::default()));
    }

    #[test]
    fn mistakes_in_the_key_file_are_reported_with_their_line() {
        let errors = [
            "step:\n  next: p\n",
            "step:\n  hint: q\n",
            "step:\n  nxet: n\n",
            "steps:\n  next: n\n",
            "step:\n  next: ctrl-\n",
            "step: [n]\n",
        ]
        .map(|text| read_text(text).unwrap_err());
        insta::assert_snapshot!(errors.join("\n"));
    }
}
