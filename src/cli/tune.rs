//! `tune`: the block sizes and types a target runs fastest with on this device.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{
    Console, Entry, MeasureFlags, RunFlags, SizeFlags, finish, print_json, print_table, timed,
};
use super::training_args::UsageError;
use crate::analysis::comparison::total_series;
use crate::analysis::relative::{RelativeTime, USUAL_MARGIN, middle};
use crate::analysis::tuning::{
    Candidate, Choice, Search, Tried, Tuned, TunedTarget, candidates, disagreement, finalists,
};
use crate::analysis::turns::{Turn, run_one, take_turns};
use crate::analysis::{MeasuredRun, RunFailure, Runner, Stop, Variant};
use crate::base::statistics::Finding;
use crate::base::table::{Align, TextTable};
use crate::base::units::number_or_not;
use crate::model::Target;
use crate::run::folder;

const DTYPE: &str = "--dtype=";

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor tune v3 --config small
      every block size of every kernel
  tinyllama-tutor tune v3 --kernels rmsnorm,adamw --sizes 64,128,256 --dtypes bf16
      a smaller search")]
pub struct TuneArgs {
    /// What to tune, with flags of its own after a colon: v3, v3:--graph-fusion=on
    target: Entry,
    /// Kernels whose block sizes are tried [default: all that have one]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    kernels: Vec<String>,
    /// Block sizes to try, where a kernel can have them [default: all it can have]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    sizes: Vec<usize>,
    /// Also try these types of operands (bf16, f16); they change the numbers a little
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
    dtypes: Vec<String>,
    /// Try every combination when there are no more than so many, else each flag by itself
    #[arg(long, value_name = "N", default_value_t = 24)]
    most: usize,
    #[command(flatten)]
    measure: MeasureFlags,
    /// Do not keep the result; later runs of the target take over what is kept
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeFlags,
    #[command(flatten)]
    flags: RunFlags,
}

/// A kernel with a block size, and the sizes it can have.
#[derive(Clone, Copy, Debug)]
pub struct Tunable<'a> {
    pub kernel: &'a str,
    pub sizes: &'a [usize],
}

/// A candidate measured again, in turns with the usual flags.
#[derive(Debug, Serialize)]
struct Finalist {
    #[serde(flatten)]
    candidate: Candidate,
    step_ms: Option<f64>,
    relative_time: Option<RelativeTime>,
    wrong: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    target: &'a str,
    search: Search,
    tried: &'a [Tried],
    finalists: &'a [Finalist],
    /// Empty when nothing beat the usual flags beyond the noise.
    winner: &'a [String],
    kept: Option<String>,
}

/// Runs the command over the kernels of this build that have a block size.
pub fn run(args: &TuneArgs, tunables: &[Tunable<'_>]) -> Result<Exit> {
    finish(tune(args, tunables))
}

fn tune(args: &TuneArgs, tunables: &[Tunable<'_>]) -> Result<Exit> {
    let (rounds, confidence) = args.measure.checked()?;
    let choices = choices(args, &of_target(&args.target, tunables)?)?;
    let root = folder::state_folder()?;
    let stop = Stop::default();
    let mut runner = args.flags.runner(stop.clone())?;
    // What an earlier search found must not stand in for the usual flags.
    runner
        .launcher
        .extend(["env".into(), "TINYLLAMA_TUNING=off".into()]);
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let (search, first) = candidates(&choices, args.most);
    let (tried, usual) = try_all(args, &runner, &first, &mut console)?;
    let best = finalists(search, &choices, &tried);
    let finalists = measure_again(args, &runner, &best, (rounds, confidence), &mut console)?;
    drop(console);
    let winner = winner(&finalists);
    let kept = match &usual {
        Some(usual) if !args.dry_run => Some(keep(args, &root, usual, winner)?),
        _ => None,
    };
    let flags = winner.map_or(&[][..], |winner| &winner.candidate.flags);
    if args.json {
        print_json(&Document {
            target: &args.target.target,
            search,
            tried: &tried,
            finalists: &finalists,
            winner: flags,
            kept,
        })?;
    } else {
        let mut out = io::stdout().lock();
        print_table(&mut out, &tried_table(args, &tried))?;
        if !finalists.is_empty() {
            print_table(&mut out, &finalist_table(&finalists, rounds))?;
        }
        print_winner(&mut out, args, winner, kept.as_deref())?;
    }
    Ok(Exit::Ok)
}

/// The kernels with a block size that the target launches, as far as its own flags leave it as it is.
fn of_target<'a>(entry: &Entry, tunables: &[Tunable<'a>]) -> Result<Vec<Tunable<'a>>, UsageError> {
    let target: Target = entry.target.parse().map_err(UsageError)?;
    // V4 sizes its blocks itself.
    let launched = match target {
        Target::V4 => vec![],
        target => target.recipe().kernels(),
    };
    let launched = |tunable: &&Tunable<'_>| launched.contains(&tunable.kernel);
    Ok(tunables.iter().filter(launched).copied().collect())
}

fn choices(args: &TuneArgs, tunables: &[Tunable<'_>]) -> Result<Vec<Choice>, UsageError> {
    let known: Vec<&str> = tunables.iter().map(|tunable| tunable.kernel).collect();
    if let Some(unknown) = args
        .kernels
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        let target = &args.target.target;
        return Err(UsageError(if known.is_empty() {
            format!(
                "--kernels {unknown}: {target} launches no kernel whose block size can be chosen; v3 does"
            )
        } else {
            format!(
                "--kernels: no kernel `{unknown}` has a block size; these have: {}",
                known.join(", ")
            )
        }));
    }
    let mut choices: Vec<Choice> = tunables
        .iter()
        .filter(|tunable| {
            args.kernels.is_empty() || args.kernels.iter().any(|name| name == tunable.kernel)
        })
        .map(|tunable| Choice {
            name: tunable.kernel.into(),
            flags: tunable
                .sizes
                .iter()
                .filter(|size| args.sizes.is_empty() || args.sizes.contains(size))
                .map(|size| format!("--block-size={}={size}", tunable.kernel))
                .collect(),
        })
        .collect();
    choices.push(Choice {
        name: "dtype".into(),
        flags: args
            .dtypes
            .iter()
            .map(|dtype| format!("{DTYPE}{dtype}"))
            .collect(),
    });
    choices.retain(|choice| !choice.flags.is_empty());
    if choices.is_empty() {
        let why = if tunables.is_empty() {
            "it launches no kernel whose block size can be chosen"
        } else {
            "none of the kernels can have one of --sizes"
        };
        return Err(UsageError(format!(
            "nothing to try with {}: {why}, and there are no --dtypes",
            args.target.target
        )));
    }
    Ok(choices)
}

/// Every candidate once; also the run with the usual flags, which the others are compared with.
fn try_all(
    args: &TuneArgs,
    runner: &Runner,
    candidates: &[Candidate],
    console: &mut Console,
) -> Result<(Vec<Tried>, Option<MeasuredRun>)> {
    let mut usual: Option<MeasuredRun> = None;
    let mut all = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let variant = variant(args, candidate);
        let turn = Turn {
            run: at + 1,
            of: candidates.len(),
            name: &variant.name,
        };
        let (step_ms, wrong) = match run_one(runner, &variant, &[], turn, console) {
            Ok(run) => {
                let wrong = usual.as_ref().and_then(|usual| disagreement(&run, usual));
                let step_ms = middle(&total_series(std::slice::from_ref(&run)));
                if candidate.flags.is_empty() {
                    refuse_cpu(&run, candidates)?;
                    usual = Some(run);
                }
                (step_ms, wrong)
            }
            // A device may refuse a block size; without the usual flags there is nothing to compare with.
            Err(RunFailure::Failed(failed)) if !candidate.flags.is_empty() => {
                let text = RunFailure::Failed(failed).to_string();
                (None, Some(text.lines().next().unwrap_or_default().into()))
            }
            Err(other) => return Err(other.into()),
        };
        all.push(Tried {
            candidate: candidate.clone(),
            step_ms,
            wrong,
        });
    }
    Ok((all, usual))
}

/// The CPU runs the model without this project's kernels, so the search would only find noise.
fn refuse_cpu(usual: &MeasuredRun, candidates: &[Candidate]) -> Result<(), UsageError> {
    let sizes = candidates
        .iter()
        .flat_map(|candidate| &candidate.flags)
        .any(|flag| flag.starts_with("--block-size"));
    if sizes && usual.hello.backend == "cpu" {
        return Err(UsageError(
            "the CPU runs the model without this project's kernels, so there is no block size to tune; \
             name a GPU with --backend"
                .into(),
        ));
    }
    Ok(())
}

/// The best in turns with the usual flags. Several are looked at, so each interval is widened until all hold together.
fn measure_again(
    args: &TuneArgs,
    runner: &Runner,
    best: &[Candidate],
    (rounds, confidence): (usize, f64),
    console: &mut Console,
) -> Result<Vec<Finalist>, RunFailure> {
    if best.is_empty() {
        return Ok(vec![]);
    }
    console.say("measuring the best again, in turns with the usual flags");
    let mut variants = vec![variant(args, &Candidate::default())];
    variants.extend(best.iter().map(|candidate| variant(args, candidate)));
    let runs = take_turns(runner, &variants, rounds, console)?;
    let each = 1.0 - (1.0 - confidence) / best.len() as f64;
    let usual = total_series(&runs[0]);
    Ok(best
        .iter()
        .zip(&runs[1..])
        .map(|(candidate, own)| {
            let series = total_series(own);
            Finalist {
                candidate: candidate.clone(),
                step_ms: middle(&series),
                relative_time: RelativeTime::in_rounds(&series, &usual, each, USUAL_MARGIN),
                wrong: own
                    .iter()
                    .zip(&runs[0])
                    .find_map(|(run, usual)| disagreement(run, usual)),
            }
        })
        .collect())
}

fn variant(args: &TuneArgs, candidate: &Candidate) -> Variant {
    let own = args.target.flags.clone();
    let tried: Vec<OsString> = candidate.flags.iter().map(OsString::from).collect();
    Variant {
        name: format!("{} {}", args.target.target, candidate.name()),
        target: args.target.target.clone(),
        flags: [timed(), args.flags.words(), args.size.words(), own, tried].concat(),
    }
}

/// The fastest of those that are faster beyond the noise and compute the same.
fn winner(finalists: &[Finalist]) -> Option<&Finalist> {
    finalists
        .iter()
        .filter(|finalist| finalist.wrong.is_none())
        .filter_map(|finalist| Some((finalist, finalist.relative_time.as_ref()?)))
        .filter(|(_, time)| time.finding == Some(Finding::Faster))
        .min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio))
        .map(|(finalist, _)| finalist)
}

fn keep(
    args: &TuneArgs,
    root: &Path,
    usual: &MeasuredRun,
    winner: Option<&Finalist>,
) -> Result<String> {
    let hello = &usual.hello;
    if hello.config.validate().is_err() {
        bail!("the run reported a model that cannot be");
    }
    let interval = winner
        .and_then(|winner| winner.relative_time.as_ref())
        .and_then(|time| time.interval);
    let flags = winner.map_or(vec![], |winner| winner.candidate.flags.clone());
    let dtype = flags.iter().find_map(|flag| flag.strip_prefix(DTYPE));
    let mut tuned = Tuned::load(root, &hello.backend, &hello.device)?;
    tuned.put(TunedTarget {
        target: args.target.target.clone(),
        config: hello.config,
        recipe: hello.recipe,
        dtype: dtype.unwrap_or(&hello.dtype).to_string(),
        flags,
        speedup: interval.map(|interval| {
            [
                1.0 / interval.value,
                1.0 / interval.high,
                1.0 / interval.low,
            ]
        }),
        found: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs(),
        program: env!("CARGO_PKG_VERSION").into(),
        driver: hello.driver.clone(),
    });
    Ok(tuned.save(root)?.display().to_string())
}

fn tried_table(args: &TuneArgs, tried: &[Tried]) -> TextTable {
    let mut table = TextTable::new(
        format!("{}, each once", args.target.text()),
        &[
            ("flags", Align::Left),
            ("step ms", Align::Right),
            ("", Align::Left),
        ],
    );
    table.rows = tried
        .iter()
        .map(|tried| {
            vec![
                tried.candidate.name(),
                number_or_not(tried.step_ms, 3),
                tried.wrong.clone().unwrap_or_default(),
            ]
        })
        .collect();
    table
}

fn finalist_table(finalists: &[Finalist], rounds: usize) -> TextTable {
    let mut table = TextTable::new(
        format!("The best again, {rounds} rounds in turns with the usual flags"),
        &[
            ("flags", Align::Left),
            ("step ms", Align::Right),
            ("speed-up", Align::Right),
            ("finding", Align::Left),
        ],
    );
    for finalist in finalists {
        let time = finalist.relative_time.as_ref();
        table.rows.push(vec![
            finalist.candidate.name(),
            number_or_not(finalist.step_ms, 3),
            time.map_or("-".into(), RelativeTime::speedup_text),
            finalist
                .wrong
                .clone()
                .or_else(|| time.map(RelativeTime::finding_text))
                .unwrap_or_default(),
        ]);
    }
    table
}

fn print_winner(
    out: &mut impl Write,
    args: &TuneArgs,
    winner: Option<&Finalist>,
    kept: Option<&str>,
) -> io::Result<()> {
    match winner {
        Some(winner) => writeln!(out, "\nfastest: {}", winner.candidate.name())?,
        None => writeln!(
            out,
            "\nNothing beat the usual flags beyond the noise; they stay. More rounds see smaller differences."
        )?,
    }
    let Some(path) = kept else { return Ok(()) };
    writeln!(out, "kept in {path}")?;
    let Some(winner) = winner else { return Ok(()) };
    let flags = &winner.candidate.flags;
    let target = &args.target.target;
    if flags.iter().any(|flag| flag.starts_with("--block-size")) {
        writeln!(
            out,
            "Runs of {target} with this model and type take these block sizes from now on; TINYLLAMA_TUNING=off leaves them aside."
        )?;
    }
    if let Some(dtype) = flags.iter().find(|flag| flag.starts_with(DTYPE)) {
        writeln!(
            out,
            "{dtype} changes the numbers, so no run takes it by itself: give it where you want it."
        )?;
    }
    Ok(())
}
