//! One key, and its name in files and on the screen.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers. Shift is part of a letter, not a modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

const MODIFIERS: [(&str, KeyModifiers); 2] = [
    ("ctrl-", KeyModifiers::CONTROL),
    ("alt-", KeyModifiers::ALT),
];

const NAMED: [(&str, KeyCode); 16] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
];

impl Key {
    /// Reads `n`, `N`, `ctrl-p`, `pageup`, `f1`.
    pub fn parse<'a>(text: &'a str) -> Result<Self, String> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        let prefixed = |text: &'a str| {
            MODIFIERS.into_iter().find_map(|(name, modifier)| {
                let after = text.strip_prefix(name)?;
                (!after.is_empty()).then_some((modifier, after))
            })
        };
        while let Some((modifier, after)) = prefixed(rest) {
            modifiers |= modifier;
            rest = after;
        }
        let code = code(rest).ok_or_else(|| {
            format!(
                "`{text}` is not a key: write a character, ctrl-x, alt-x, f1 to f12, or one of {}",
                NAMED.map(|(name, _)| name).join(", ")
            )
        })?;
        Ok(Self { code, modifiers })
    }

    /// The key of an event. Terminals report shift in different ways; the result is the same.
    pub fn from_event(event: &KeyEvent) -> Self {
        let kept = KeyModifiers::CONTROL | KeyModifiers::ALT;
        let code = match event.code {
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            KeyCode::Char(c) if event.modifiers.contains(KeyModifiers::CONTROL) => {
                KeyCode::Char(c.to_ascii_lowercase())
            }
            code => code,
        };
        Self {
            code,
            modifiers: event.modifiers & kept,
        }
    }
}

fn code(name: &str) -> Option<KeyCode> {
    if let Some((_, code)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some(*code);
    }
    if let Some(number) = name.strip_prefix('f').and_then(|rest| rest.parse().ok()) {
        return (1..=12).contains(&number).then_some(KeyCode::F(number));
    }
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (Some(c), None) if !c.is_control() => Some(KeyCode::Char(c)),
        _ => None,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, modifier) in MODIFIERS {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "f{number}"),
            _ => f.write_str("?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_as_they_are_written() {
        for text in [
            "n",
            "N",
            "?",
            "-",
            "ctrl-p",
            "alt-x",
            "pageup",
            "f1",
            "f12",
            "shift-tab",
            "space",
        ] {
            assert_eq!(Key::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "ctrl-", "f13", "hello", "\n"] {
            assert!(Key::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn shift_belongs_to_the_letter_whatever_the_terminal_says() {
        let event = KeyEvent::new(KeyCode::Char('N'), KeyModifiers::SHIFT);
        assert_eq!(Key::from_event(&event), Key::parse("N").unwrap());
        let event = KeyEvent::new(KeyCode::Char('?'), KeyModifiers::SHIFT);
        assert_eq!(Key::from_event(&event), Key::parse("?").unwrap());
    }
}
