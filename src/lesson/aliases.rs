//! Estimates the size of a YAML text after every alias is replaced by its anchor's content.

use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Bytes that aliases may add to the text's own length.
const MOST_REPEATED: usize = 64 << 10;

/// Returns whether the aliases of a text expand it far beyond its own length. Reads only up to the limit and stores nothing.
pub(super) fn explode(text: &str) -> bool {
    if !(text.contains('&') && text.contains('*')) {
        return false;
    }
    // The longest escapes stand for twice as many bytes as they have.
    let left = Cell::new(Some(2 * text.len() + MOST_REPEATED));
    for document in serde_yaml::Deserializer::from_str(text) {
        // The reader of the text reports other errors.
        if Count(&left).deserialize(document).is_err() {
            break;
        }
    }
    left.get().is_none()
}

/// Subtracts the bytes of every node from the rest.
#[derive(Clone, Copy)]
struct Count<'a>(&'a Cell<Option<usize>>);

impl Count<'_> {
    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        // Even an empty node counts as one byte.
        let left = self.0.get().and_then(|left| left.checked_sub(bytes + 1));
        self.0.set(left);
        left.map(drop)
            .ok_or_else(|| E::custom("it repeats too much of itself"))
    }
}

impl<'de> DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Visits values of a fixed size in bytes.
macro_rules! count {
    ($($visit:ident($($of:ty)?) = $bytes:literal;)+) => {
        $(fn $visit<E: Error>(self $(, _: $of)?) -> Result<(), E> { self.take($bytes) })+
    };
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("anything")
    }

    count! {
        visit_bool(bool) = 1;
        visit_i64(i64) = 1;
        visit_u64(u64) = 1;
        visit_i128(i128) = 1;
        visit_u128(u128) = 1;
        visit_f64(f64) = 1;
        visit_unit() = 0;
        visit_none() = 0;
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.take(text.len())
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        self.take(0)?;
        while sequence.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.take(0)?;
        while map.next_key_seed(self)?.is_some() {
            map.next_value_seed(self)?;
        }
        Ok(())
    }

    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        use serde::de::VariantAccess as _;
        let (tag, inner) = tagged.variant_seed(Tag)?;
        self.take(tag)?;
        inner.newtype_variant_seed(self)
    }
}

/// The length of a `!tag`.
struct Tag;

impl<'de> DeserializeSeed<'de> for Tag {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        String::deserialize(deserializer).map(|tag| tag.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_node_counts_each_time_it_is_repeated() {
        for node in [
            "[]", "{}", "!a 1", "null", "1.5", "true", "-7", "\"\"", "{a: }",
        ] {
            let many = [node; 30].join(", ");
            let text =
                |aliases: usize| format!("a: &a [{many}]\nb: [{}]\n", "*a, ".repeat(aliases));
            assert!(!explode(&text(20)), "{node}");
            assert!(explode(&text(20_000)), "{node}");
        }
    }

    #[test]
    fn a_tag_counts_with_its_name() {
        let tag = "t".repeat(300);
        let aliases = "*a, ".repeat(20_000);
        assert!(explode(&format!("a: &a !{tag} 1\nb: [{aliases}]\n")));
    }

    #[test]
    fn escapes_are_longer_than_their_text() {
        let text = format!("a: \"{}\" # & *\n", "\\L".repeat(100_000));
        assert!(!explode(&text));
    }
}
