//! Where in a YAML text a node stands.
//!
//! Walks down to the node with serde and fails there on purpose: the parser attaches line and column to the failure. Only
//! done to report a problem, so that reading stays plain serde.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// One step down from a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'a> {
    Key(&'a str),
    Index(usize),
}

/// Line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub line: usize,
    pub column: usize,
}

/// Where the value at `path` starts, or the deepest node on the way that exists.
pub(super) fn locate(text: &str, path: &[Part]) -> Option<Position> {
    let error = Walk(path)
        .deserialize(serde_yaml::Deserializer::from_str(text))
        .err()?;
    let location = error.location()?;
    Some(Position {
        line: location.line(),
        column: location.column(),
    })
}

struct Walk<'a>(&'a [Part<'a>]);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    // Scalars are refused with this, which is where the walk ends.
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the node")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if let [Part::Key(wanted), rest @ ..] = self.0 {
            while let Some(key) = map.next_key::<String>()? {
                if key == *wanted {
                    return map.next_value_seed(Walk(rest));
                }
                map.next_value::<IgnoredAny>()?;
            }
        }
        Err(A::Error::custom("here"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        if let [Part::Index(wanted), rest @ ..] = self.0 {
            for _ in 0..*wanted {
                sequence.next_element::<IgnoredAny>()?;
            }
            sequence.next_element_seed(Walk(rest))?;
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
        let find = |path: &[Part]| locate(TEXT, path).unwrap();
        assert_eq!(find(&[Part::Key("id")]), Position { line: 1, column: 5 });
        let second = [Part::Key("steps"), Part::Index(1)];
        assert_eq!(find(&second), Position { line: 5, column: 5 });
        let flags = [Part::Key("steps"), Part::Index(1), Part::Key("flags")];
        assert_eq!(
            find(&flags),
            Position {
                line: 8,
                column: 12
            }
        );
    }

    #[test]
    fn a_missing_node_gives_its_parent() {
        let absent = [Part::Key("steps"), Part::Index(1), Part::Key("target")];
        assert_eq!(locate(TEXT, &absent).unwrap().line, 5);
    }
}
