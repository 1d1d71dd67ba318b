//! Flags of `run` that a command passes to its runs, and flags for the number and confidence of measurements.

use anyhow::Result;
use clap::builder::{Resettable, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use tinyllama_contract::bounds;
use tinyllama_contract::flags::{RunSpec, TrainingArgs, parse_flags};
use tinyllama_engine::model::ModelConfig;
use tinyllama_runs::Launcher;

/// Default timing of runs. A true step time needs at least one wait per step; a wait after each phase would slow the
/// step down.
pub const TIMED: [&str; 2] = ["--sync=step", "--repeatability=off"];

/// Flags that all runs of a command share. They are all flags of `run`, except those that the command defines under
/// the same name (and another id). The checks are those of `run`.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The flags as the user gave them.
    pub args: Vec<String>,
    /// The launcher that executes runs.
    pub launcher: Option<String>,
}

const LAUNCHER: &str = "launcher";
const REST: &str = "rest";

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let own: Vec<Option<String>> = command.get_arguments().map(long).collect();
        let flags = run_flags().filter(|flag| !own.contains(&long(flag)));
        let launcher = Arg::new(LAUNCHER)
            .long(LAUNCHER)
            .value_name("WHERE")
            .env("TINYLLAMA_LAUNCHER")
            .value_parser(Launcher::check_flag)
            .help_heading("Device")
            .help("Launcher for runs: local, slurm, or a command to put before each, such as \"srun --gres=gpu:1\"");
        let rest = Arg::new(REST)
            .last(true)
            .num_args(0..)
            .value_name("RUN FLAGS")
            .help("Any other flags of `run`: `-- --trace FILE`");
        command
            .args(flags.collect::<Vec<_>>())
            .arg(launcher)
            .arg(rest)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn long(flag: &Arg) -> Option<String> {
    flag.get_long().map(str::to_owned)
}

/// Flags without default values and environment variables, because the run applies these.
fn run_flags() -> impl Iterator<Item = Arg> {
    let run = TrainingArgs::augment_args(Command::new("run"));
    let flags: Vec<Arg> = run.get_arguments().cloned().collect();
    flags
        .into_iter()
        .map(|flag| flag.default_value(Resettable::Reset).env(Resettable::Reset))
}

/// Names of the on/off flags of `run`, without dashes.
pub fn switches() -> Vec<String> {
    let takes = |flag: &Arg, state| {
        let mut values = flag.get_possible_values().into_iter();
        values.any(|value| value.get_name() == state)
    };
    let flags = run_flags().filter(|flag| takes(flag, "on") && takes(flag, "off"));
    flags.filter_map(|flag| long(&flag)).collect()
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Flags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for flag in run_flags() {
            let id = flag.get_id().as_str();
            let is_given = matches.try_contains_id(id).unwrap_or(false)
                && matches.value_source(id) == Some(ValueSource::CommandLine);
            let Some(name) = flag.get_long().filter(|_| is_given) else {
                continue;
            };
            self.args
                .extend(matches.get_raw(id).into_iter().flatten().map(|value| {
                    match flag.get_action() {
                        ArgAction::SetTrue => format!("--{name}"),
                        _ => format!("--{name}={}", value.to_string_lossy()),
                    }
                }));
        }
        let rest = matches.get_many::<String>(REST).into_iter().flatten();
        self.args.extend(rest.cloned());
        self.launcher = matches.get_one::<String>(LAUNCHER).cloned();
        Ok(())
    }
}

impl Flags {
    /// These flags after `args`. If both contain the same flag, the one from here counts.
    pub fn merged_with(&self, args: &[&str]) -> Vec<String> {
        let is_deterministic = self.args.iter().any(|word| word == "--deterministic");
        let before = args.iter().map(|word| (*word).to_string());
        before
            // A deterministic run has to compare repeats.
            .filter(|word| !(is_deterministic && word == "--repeatability=off"))
            .chain(self.args.iter().cloned())
            .collect()
    }

    /// The value given for a flag.
    pub fn value(&self, flag: &str) -> Option<String> {
        let flags = parse_flags(&self.args);
        let mut named = flags.iter().rev().filter(|given| given.name() == flag);
        named.next()?.value().map(str::to_owned)
    }

    /// The sizes of the model that `spec` runs with these flags. `usual` gives the missing sizes.
    ///
    /// # Errors
    /// If the sizes are not valid.
    pub fn config(&self, spec: &RunSpec, usual: ModelConfig) -> Result<ModelConfig> {
        let spec = spec.surrounded_by(&self.args, &[])?;
        let training = &spec.flags.training;
        let base = match spec.has_flag("--config") {
            true => training.config.config(),
            false => usual,
        };
        Ok(training.resolve(base)?)
    }
}

/// The number of parallel runs.
#[derive(Clone, Debug, Args)]
pub struct Sweep {
    /// Number of parallel runs, each behind the launcher's command
    #[arg(long, value_name = "N", value_parser = bounds::JOBS)]
    pub jobs: Option<usize>,
}

/// Number and confidence of measurements.
#[derive(Clone, Debug, Args)]
pub struct Measure {
    /// Rounds; each round runs everything once, in turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = bounds::ROUNDS)]
    pub rounds: usize,
    /// Confidence of intervals, in per cent
    #[arg(long = "confidence", value_name = "PERCENT", default_value = "95", value_parser = bounds::CONFIDENCE.map(|percent| percent / 100.0))]
    pub confidence: f64,
}
