//! A target with the flags of `run`, parsed once.

mod engine;
mod flag;
mod options;
mod ranks;
mod run_flags;
mod switches;
mod training;
mod workshop;

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, FromArgMatches};
use thiserror::Error;

pub use flag::{Flag, merged, parse_flags};
pub use options::{RankOptions, TrainingOptions, WEIGHT_DECAY, adamw};
pub use ranks::RankArgs;
pub use run_flags::{OwnKernel, ReportArgs, RunFlags};
pub use switches::{BlockSize, Switch};
pub use training::{Dtype, TrainingArgs, USUAL_STEPS};

use crate::targets::Target;
use flag::last_of_each;

/// An error in a command line or in one of its values.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// A target with the flags it was given. Every other flag has the default of `run`.
#[derive(Clone, Debug)]
pub struct RunSpec {
    pub target: Target,
    pub flags: RunFlags,
    given: Vec<Flag>,
}

/// The clap command for `run`. It ignores environment variables such as the preferred backend, because the run reads
/// them on its own machine.
static RUN: LazyLock<Command> = LazyLock::new(|| {
    RunFlags::augment_args(Command::new("run").no_binary_name(true)).mut_args(|flag| {
        let takes = flag.get_action().takes_values();
        let flag = flag.env(Resettable::Reset);
        match takes {
            true => flag.allow_negative_numbers(true),
            false => flag,
        }
    })
});

impl RunSpec {
    /// Parses the arguments that follow `run`.
    ///
    /// # Errors
    /// Returns the message that `run` would print.
    pub fn parse<W: AsRef<str>>(
        target: &str,
        args: impl IntoIterator<Item = W>,
    ) -> Result<Self, UsageError> {
        Self::new(target.parse().map_err(UsageError)?, parse_flags(args))
    }

    /// Adds flags before and after its own. If a flag is repeated, the last one counts.
    ///
    /// # Errors
    /// As [`RunSpec::parse`].
    pub fn surrounded_by(&self, before: &[String], after: &[String]) -> Result<Self, UsageError> {
        let given = [parse_flags(before), self.given.clone(), parse_flags(after)].concat();
        Self::new(self.target, last_of_each(&given))
    }

    fn new(target: Target, given: Vec<Flag>) -> Result<Self, UsageError> {
        let args = given.iter().flat_map(Flag::args);
        let matches = RUN.clone().try_get_matches_from(args);
        let flags = matches.and_then(|matches| RunFlags::from_arg_matches(&matches));
        let flags = flags.map_err(|error| UsageError(in_a_line(&error)))?;
        Ok(Self {
            target,
            flags,
            given,
        })
    }

    /// Refuses flags that contradict each other.
    ///
    /// # Errors
    /// Returns the message that `run` would print.
    pub fn checked(self) -> Result<Self, UsageError> {
        match self.flags.options(self.target) {
            Ok(_) => Ok(self),
            Err(error) => Err(UsageError(format!("{error:#}"))),
        }
    }

    /// The flags as the user gave them.
    pub fn given(&self) -> &[Flag] {
        &self.given
    }

    pub fn args(&self) -> impl Iterator<Item = String> + '_ {
        self.given.iter().flat_map(|flag| flag.args().to_vec())
    }

    /// Formats the target with its flags for a command line: `v1`, `v2:--graph-fusion=off`.
    pub fn command_name(&self) -> String {
        let colon = if self.given.is_empty() { "" } else { ":" };
        format!("{}{colon}{}", self.target, self.line())
    }

    pub fn has_flag(&self, flag: &str) -> bool {
        self.given.iter().any(|given| given.name() == flag)
    }

    /// Formats the flags as a line that a shell accepts.
    pub fn line(&self) -> String {
        let args: Vec<String> = self.args().collect();
        let line = shlex::try_join(args.iter().map(String::as_str));
        line.unwrap_or_else(|_| args.join(" "))
    }
}

/// Parses the format that [`RunSpec::command_name`] writes.
impl FromStr for RunSpec {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<Self, UsageError> {
        let (target, flags) = text.split_once(':').unwrap_or((text, ""));
        let args = shlex::split(flags);
        let open = || UsageError(format!("`{text}`: a quotation mark is not closed"));
        Self::parse(target, args.ok_or_else(open)?)?.checked()
    }
}

impl PartialEq for RunSpec {
    fn eq(&self, other: &Self) -> bool {
        (self.target, &self.given) == (other.target, &other.given)
    }
}

/// Displays the target and its flags as a name.
impl fmt::Display for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.target.name)?;
        self.args().try_for_each(|word| write!(f, " {word}"))
    }
}

/// The text of clap's error. It says which numbers are accepted, and of a flag of the workshop's scripts what it is here.
pub fn usage_error_text(error: &clap::Error) -> String {
    let text = plain_number_error(&error.to_string());
    let Some(here) = workshop::instead(error) else {
        return text;
    };
    let mut lines = text.lines().filter(|line| !line.starts_with("  tip:"));
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.skip_while(|line| line.is_empty()).collect();
    format!(
        "{first}\n\n  tip: the workshop's scripts have this flag; here: {here}\n\n{}\n",
        rest.join("\n")
    )
}

fn plain_number_error(text: &str) -> String {
    const WORDS: [(&str, &str); 4] = [
        (
            "invalid digit found in string",
            "expected a whole number, at least 0",
        ),
        (
            "number too large to fit in target type",
            "the number is too large",
        ),
        (
            "cannot parse integer from empty string",
            "expected a whole number",
        ),
        (
            "invalid float literal",
            "expected a number, such as 0.001 or 3e-4",
        ),
    ];
    WORDS.iter().fold(text.to_owned(), |text, (theirs, ours)| {
        text.replace(theirs, ours)
    })
}

/// The first line of clap's message. For an unknown flag it says what a flag of the workshop's scripts is here, names a
/// similar flag, or else lists the known ones.
fn in_a_line(error: &clap::Error) -> String {
    let text = plain_number_error(&error.to_string());
    let line = text.lines().next().unwrap_or_default();
    let line = line.trim_start_matches("error: ");
    if error.kind() != ErrorKind::UnknownArgument {
        return line.to_string();
    }
    if let Some(here) = workshop::instead(error) {
        return format!("{line}; the workshop's scripts have this flag; here: {here}");
    }
    if let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg) {
        return format!("{line}; did you mean {similar}?");
    }
    let known = RUN.get_arguments().filter_map(|flag| flag.get_long());
    let known: Vec<String> = known.map(|flag| format!("--{flag}")).collect();
    format!("{line}; there are: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_typed_and_keep_their_words() {
        let spec = RunSpec::parse("v2", ["--seq-len", "256", "--flops"]).unwrap();
        assert_eq!(spec.target, crate::targets::v2::TARGET);
        assert_eq!(spec.flags.training.seq_len, Some(256));
        assert!(spec.flags.report.flops);
        let args = |args: &[&str]| {
            args.iter()
                .map(|word| (*word).to_string())
                .collect::<Vec<_>>()
        };
        let after = args(&["--seq-len=64", "--seed", "3"]);
        let other = spec
            .surrounded_by(&args(&["--flops", "--seed=1"]), &after)
            .unwrap();
        assert_eq!(other.to_string(), "v2 --flops --seq-len=64 --seed 3");
        assert_eq!(other.flags.training.seq_len, Some(64));
        assert!(other.has_flag("--seed") && !other.has_flag("--config"));
        assert_ne!(spec, other);
    }

    #[test]
    fn flags_that_run_does_not_take_are_refused_with_its_message() {
        let refused = |target: &str, args: &[&str]| {
            let spec = RunSpec::parse(target, args.iter());
            spec.unwrap_err().to_string()
        };
        assert!(refused("v9", &[]).contains("v9"));
        assert!(refused("v1", &["--num-stops", "3"]).contains("--num-stops"));
        assert!(refused("v1", &["--seed", "x"]).contains("invalid value 'x'"));
        assert!(refused("v1", &["stray"]).contains("stray"));
        let of_workshop = refused("v2", &["--use-amp"]);
        assert!(
            of_workshop.contains("`--dtype bf16`") && !of_workshop.contains("--graph-fusion"),
            "{of_workshop}"
        );
        let unknown = refused("v2", &["--nonsense=1"]);
        assert!(
            unknown.contains("--nonsense") && unknown.contains("--graph-fusion"),
            "{unknown}"
        );
    }

    #[test]
    fn an_entry_reads_as_it_is_written() {
        let spec: RunSpec = "v2:--graph-fusion=off --seed=3".parse().unwrap();
        assert_eq!(spec.to_string(), "v2 --graph-fusion=off --seed=3");
        assert_eq!(spec.command_name().parse::<RunSpec>().unwrap(), spec);
        assert_eq!("v1".parse::<RunSpec>().unwrap().command_name(), "v1");
        for (wrong, why) in [
            ("v1:--data='x", "quotation"),
            ("stage2:--qkv-fusion=on", "stage2"),
        ] {
            let error = wrong.parse::<RunSpec>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
