//! Flags of a lesson's run, changed for verifying.

/// The size that `--fast` puts in place of `tiny`, which is so small that a run takes well under a second.
const SMALL: [(&str, &str); 8] = [
    ("--hidden", "32"),
    ("--layers", "2"),
    ("--heads", "4"),
    ("--kv-heads", "2"),
    ("--ffn", "64"),
    ("--seq-len", "16"),
    ("--batch-size", "2"),
    ("--vocab", "64"),
];
/// Enough for so small a model to learn in as few steps as a lesson asks for.
const FAST_LEARNING_RATE: &str = "0.001";
/// Numbers of `tiny` that lessons change, which stay changed by the same factor.
const TINY: [(&str, usize); 2] = [("--seq-len", 128), ("--batch-size", 8)];

/// `flags` with the model shrunk.
pub(super) fn shrunk(flags: &[String]) -> Vec<String> {
    let mut small = flags.to_vec();
    for (name, value) in SMALL {
        let value = scaled(flags, name, value).unwrap_or_else(|| value.to_string());
        set(&mut small, name, Some(&value));
    }
    set(&mut small, "--learning-rate", Some(FAST_LEARNING_RATE));
    small
}

/// `flags` with those in `others` added, or put in their place.
pub(super) fn overridden(flags: &[String], others: &[String]) -> Vec<String> {
    let mut result = flags.to_vec();
    let mut others = others.iter().peekable();
    while let Some(name) = others.next() {
        let value = others.next_if(|word| !word.starts_with("--"));
        set(&mut result, name, value.map(String::as_str));
    }
    result
}

/// Whether `flags` put a model of another size in the place of a lesson's.
pub(super) fn resize(flags: &[String]) -> bool {
    let sizes = || SMALL.iter().map(|(name, _)| *name).chain(["--config"]);
    flags.iter().any(|flag| sizes().any(|name| flag == name))
}

/// `--seq-len 256` is twice that of `tiny`, so twice the small one.
fn scaled(flags: &[String], name: &str, small: &str) -> Option<String> {
    let (_, usual) = TINY.iter().find(|(known, _)| *known == name)?;
    let position = flags.iter().position(|flag| flag == name)?;
    let wanted: usize = flags.get(position + 1)?.parse().ok()?;
    let small: usize = small.parse().ok()?;
    Some((small * wanted / usual).max(1).to_string())
}

fn set(flags: &mut Vec<String>, name: &str, value: Option<&str>) {
    if let Some(position) = flags.iter().position(|flag| flag == name) {
        flags.remove(position);
        if flags
            .get(position)
            .is_some_and(|next| !next.starts_with("--"))
        {
            flags.remove(position);
        }
    }
    flags.push(name.to_string());
    flags.extend(value.map(str::to_string));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn a_shrunk_run_keeps_what_its_lesson_changed() {
        let flags = shrunk(&words(
            "--config tiny --num-steps 30 --batch-size 16 --flops",
        ));
        let line = flags.join(" ");
        assert!(
            line.starts_with("--config tiny --num-steps 30 --flops"),
            "{line}"
        );
        for part in [
            "--hidden 32",
            "--batch-size 4",
            "--seq-len 16",
            "--learning-rate 0.001",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert_eq!(line.matches("--batch-size").count(), 1);
    }

    #[test]
    fn given_flags_take_the_place_of_a_lessons() {
        let flags = overridden(
            &words("--config tiny --deterministic --num-steps 5"),
            &words("--config small --deterministic --backend cpu"),
        );
        assert_eq!(
            flags.join(" "),
            "--num-steps 5 --config small --deterministic --backend cpu"
        );
    }

    #[test]
    fn flags_of_another_size_are_told_from_others() {
        assert!(resize(&words("--backend cuda --config small")));
        assert!(resize(&words("--seq-len 64")));
        assert!(!resize(&words(
            "--backend cuda --num-steps 60 --dtype bf16"
        )));
    }
}
