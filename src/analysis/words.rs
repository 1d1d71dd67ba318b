//! Flags of a run put together from several places: of one that is given twice, the later one counts.

use std::ffi::{OsStr, OsString};

/// Flags that are given once for each thing they name: `--block-size rmsnorm=256`.
const REPEATABLE: [&str; 1] = ["--block-size"];

/// Keeps the last of equal flags, in the order of the words that stay.
pub fn merged(words: &[OsString]) -> Vec<OsString> {
    let flags = split(words);
    flags
        .iter()
        .enumerate()
        .filter(|(at, flag)| {
            let key = key(flag);
            !flags[at + 1..]
                .iter()
                .any(|later| key.is_some() && self::key(later) == key)
        })
        .flat_map(|(_, flag)| flag.iter().cloned())
        .collect()
}

/// A flag with the words behind it that are no flags.
fn split(words: &[OsString]) -> Vec<&[OsString]> {
    let mut starts: Vec<usize> = (0..words.len()).filter(|at| is_flag(&words[*at])).collect();
    if starts.first() != Some(&0) && !words.is_empty() {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([words.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &words[*start..end])
        .collect()
}

fn is_flag(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"--")
}

/// What may be there once: the flag's name, and for repeatable ones what it names.
fn key(flag: &[OsString]) -> Option<String> {
    let first = flag.first()?.to_str()?;
    if !first.starts_with("--") {
        return None;
    }
    let (name, value) = match first.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (first, flag.get(1).and_then(|value| value.to_str())),
    };
    if REPEATABLE.contains(&name) {
        let thing = value?.split('=').next()?;
        return Some(format!("{name} {thing}"));
    }
    Some(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_flags_stays() {
        let words: Vec<OsString> = [
            "--seed=1",
            "--data",
            "a file",
            "--block-size=rmsnorm=64",
            "--flops",
            "--data=other",
            "--seed",
            "2",
            "--block-size",
            "adamw=128",
            "--block-size",
            "rmsnorm=256",
            "--flops",
        ]
        .map(OsString::from)
        .to_vec();
        assert_eq!(
            merged(&words),
            [
                "--data=other",
                "--seed",
                "2",
                "--block-size",
                "adamw=128",
                "--block-size",
                "rmsnorm=256",
                "--flops"
            ]
        );
        assert!(merged(&[]).is_empty());
        assert_eq!(
            merged(&["stray".into(), "--seed=1".into()]),
            ["stray", "--seed=1"]
        );
    }
}
