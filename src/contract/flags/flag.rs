//! Flags as separate arguments, merged from several places. If a flag is repeated, the later one counts.

/// Flags that may be repeated, once for each name: `--block-size rmsnorm=256`.
const REPEATABLE: [&str; 1] = ["--block-size"];

/// A flag with its value as the user wrote it: `--seed 3`, `--seed=3`, `--flops`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag(Vec<String>);

impl Flag {
    /// The flag's name, such as `--seed`.
    pub fn name(&self) -> &str {
        self.0[0]
            .split_once('=')
            .map_or(&self.0[0], |(name, _)| name)
    }

    pub fn value(&self) -> Option<&str> {
        match self.0[0].split_once('=') {
            Some((_, value)) => Some(value),
            None => self.0.get(1).map(String::as_str),
        }
    }

    pub fn args(&self) -> &[String] {
        &self.0
    }

    /// Key of which only one flag may exist: the flag's name. Repeatable flags add the name in their value.
    fn key(&self) -> (&str, Option<&str>) {
        let thing = self.value().filter(|_| REPEATABLE.contains(&self.name()));
        (self.name(), thing.and_then(|value| value.split('=').next()))
    }
}

/// Splits arguments into flags, each with its value. A value is a next word that does not begin with `--`. Any other
/// word is an entry without a value.
pub fn parse_flags<W: AsRef<str>>(args: impl IntoIterator<Item = W>) -> Vec<Flag> {
    let mut args = args
        .into_iter()
        .map(|word| word.as_ref().to_owned())
        .peekable();
    let mut flags = Vec::new();
    while let Some(word) = args.next() {
        let takes_next = word.starts_with("--") && !word.contains('=');
        let value = args.next_if(|next| takes_next && !next.starts_with("--"));
        flags.push(Flag([word].into_iter().chain(value).collect()));
    }
    flags
}

/// Merges arguments from several places. The last of equal flags counts.
pub fn merged<W: AsRef<str>>(args: impl IntoIterator<Item = W>) -> Vec<String> {
    let flags = last_of_each(&parse_flags(args));
    flags.into_iter().flat_map(|Flag(args)| args).collect()
}

/// Keeps the last of equal flags and the order of those that remain.
pub(super) fn last_of_each(flags: &[Flag]) -> Vec<Flag> {
    let comes_again = |at: usize| {
        let later = &flags[at + 1..];
        later.iter().any(|later| later.key() == flags[at].key())
    };
    (0..flags.len())
        .filter(|at| !comes_again(*at))
        .map(|at| flags[at].clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_flags_stays_as_it_was_written() {
        let flags = parse_flags([
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
        ]);
        let kept: Vec<String> = last_of_each(&flags)
            .iter()
            .map(|flag| flag.args().join(" "))
            .collect();
        assert_eq!(
            kept,
            [
                "--data=other",
                "--seed 2",
                "--block-size adamw=128",
                "--block-size rmsnorm=256",
                "--flops"
            ]
        );
        let stray = parse_flags(["stray", "--seed=1"]);
        assert_eq!(last_of_each(&stray), stray);
    }
}
