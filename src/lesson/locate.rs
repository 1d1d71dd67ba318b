//! Finds the position of a node in a YAML text.
//!
//! Walks down to the node with serde and fails there on purpose, because the parser attaches line and column
//! to an error.
//! This happens only to report a problem, so that the normal reading stays plain serde.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// Line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextPosition {
    pub line: usize,
    pub column: usize,
}

/// Position of the value at `path`, such as `steps/3/title`, or of the deepest existing node on the way.
pub(super) fn locate(text: &str, path: &str) -> Option<TextPosition> {
    let error = PathWalk(path)
        .deserialize(serde_yaml::Deserializer::from_str(text))
        .err()?;
    let location = error.location()?;
    Some(TextPosition {
        line: location.line(),
        column: location.column(),
    })
}

struct PathWalk<'a>(&'a str);

impl PathWalk<'_> {
    fn descend(&self) -> (&str, PathWalk<'_>) {
        let (next, rest) = self.0.split_once('/').unwrap_or((self.0, ""));
        (next, PathWalk(rest))
    }
}

impl<'de> DeserializeSeed<'de> for PathWalk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PathWalk<'_> {
    type Value = ();

    // A scalar ends the walk with an error that contains this text.
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the node")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (wanted, rest) = self.descend();
        while !wanted.is_empty()
            && let Some(key) = map.next_key::<String>()?
        {
            if key == wanted {
                return map.next_value_seed(rest);
            }
            map.next_value::<IgnoredAny>()?;
        }
        Err(A::Error::custom("here"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        let (wanted, rest) = self.descend();
        if let Ok(wanted) = wanted.parse() {
            for _ in 0_usize..wanted {
                sequence.next_element::<IgnoredAny>()?;
            }
            sequence.next_element_seed(rest)?;
        }
        Err(A::Error::custom("here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "id: one\nsteps:\n  - id: a\n    checks: []\n  - id: b\n    text: |\n      {{ x }}\n    flags: \"--x\"\n";

    #[test]
    fn nodes_are_found_by_line_and_column() {
        let find = |path: &str| locate(TEXT, path).unwrap();
        assert_eq!(find("id"), TextPosition { line: 1, column: 5 });
        assert_eq!(find("steps/1"), TextPosition { line: 5, column: 5 });
        assert_eq!(
            find("steps/1/flags"),
            TextPosition {
                line: 8,
                column: 12
            }
        );
    }

    #[test]
    fn a_missing_node_gives_its_parent() {
        assert_eq!(locate(TEXT, "steps/1/target").unwrap().line, 5);
    }
}
