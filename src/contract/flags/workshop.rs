//! Flags of the workshop that this course grew out of.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The page with the table of what to type here instead.
const PAGE: &str = include_str!("../../../lessons/reference/workshop.md");

/// Returns what the page says about a flag of the workshop's scripts.
fn said_of(flag: &str) -> Option<&'static str> {
    let cells = |row: &'static str| {
        row.strip_prefix("| ")?
            .strip_suffix(" |")?
            .split_once(" | ")
    };
    let names_flag = |theirs: &str| theirs.split(['`', ' ', ',']).any(|word| word == flag);
    let mut rows = PAGE.lines().filter_map(cells);
    let (_, here) = rows.find(|(theirs, here)| names_flag(theirs) && *here != "the same")?;
    Some(here)
}

/// Returns what to type instead of the flag that an error is about, if the workshop's scripts have it.
pub(super) fn instead(error: &clap::Error) -> Option<&'static str> {
    let flag = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(flag) if error.kind() == ErrorKind::UnknownArgument => flag,
        _ => return None,
    };
    said_of(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_workshop_are_found_as_whole_words() {
        for (flag, expected) in [
            ("--use-amp", Some("--dtype bf16")),
            ("--amp-dtype", Some("--dtype bf16")),
            ("--enable-all-fusion", Some("run v2")),
            ("--target-memory-usage", Some("batch-size")),
            ("--seq-len", None),
            ("--use", None),
        ] {
            let here = said_of(flag);
            let is_right = match expected {
                Some(part) => here.is_some_and(|here| here.contains(part)),
                None => here.is_none(),
            };
            assert!(is_right, "{flag}: {here:?}");
        }
    }
}
