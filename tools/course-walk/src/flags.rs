//! Changes the flags of a lesson's run for verifying.

use tinyllama_contract::flags::{RunSpec, UsageError, parse_flags};
use tinyllama_contract::model::Preset;

/// The size that `--fast` uses instead of `tiny`; a run takes well under a second. If a lesson changed the length or
/// the batch, the small size is changed by the same factor.
const SMALL: [(&str, usize); 8] = [
    ("--hidden", 32),
    ("--layers", 2),
    ("--heads", 4),
    ("--kv-heads", 2),
    ("--ffn", 64),
    ("--seq-len", 16),
    ("--batch-size", 2),
    ("--vocab", 64),
];
/// With this rate, so small a model learns in as few steps as a lesson asks for.
const FAST_LEARNING_RATE: &str = "0.001";

/// Flags of the small size alone, for commands that start runs.
pub(crate) fn shrinking() -> Vec<String> {
    small(|_| None)
}

/// The same run with a smaller model.
pub(crate) fn shrunk(spec: &RunSpec) -> Result<RunSpec, UsageError> {
    let (tiny, given) = (Preset::Tiny.config(), &spec.flags.training);
    let changed = |flag: &str| match flag {
        "--seq-len" => Some((given.seq_len?, tiny.sequence_length)),
        "--batch-size" => Some((given.batch_size?, tiny.batch_size)),
        _ => None,
    };
    spec.surrounded_by(&[], &small(changed))
}

/// The small sizes, each scaled by the factor by which a lesson changed it. `changed` returns (the lesson's size, the
/// size of `tiny`).
fn small(changed: impl Fn(&str) -> Option<(usize, usize)>) -> Vec<String> {
    let sizes = SMALL.iter().flat_map(|(flag, small)| {
        let size = changed(flag).map_or(*small, |(given, tiny)| (small * given / tiny).max(1));
        [(*flag).to_string(), size.to_string()]
    });
    let slow = ["--learning-rate", FAST_LEARNING_RATE].map(str::to_owned);
    sizes.chain(slow).collect()
}

/// Returns whether `flags` replace a lesson's model by one of another size.
pub(crate) fn resizes(flags: &[String]) -> bool {
    let sizes = || SMALL.iter().map(|(flag, _)| *flag).chain(["--config"]);
    let flags = parse_flags(flags);
    flags
        .iter()
        .any(|flag| sizes().any(|size| flag.name() == size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn a_shrunk_run_keeps_what_its_lesson_changed() {
        let given = args("--config tiny --num-steps 30 --batch-size 16 --flops");
        let spec = RunSpec::parse("v1", given).unwrap();
        let line = shrunk(&spec).unwrap().line();
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
    fn flags_of_another_size_are_told_from_others() {
        assert!(resizes(&args("--backend cuda --config small")));
        assert!(resizes(&args("--seq-len=64")));
        assert!(!resizes(&args(
            "--backend cuda --num-steps 60 --dtype bf16"
        )));
    }
}
