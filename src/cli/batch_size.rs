//! `batch-size`: the batch that makes the most of this device's memory, or of its time, found with real runs.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{Console, Entry, RunFlags, finish, print_json, print_table, timed};
use super::training_args::UsageError;
use crate::analysis::batch_size::{AS_GOOD, Bounds, Goal, Search, Trial, search};
use crate::analysis::comparison::total_series;
use crate::analysis::relative::middle;
use crate::analysis::turns::{Turn, run_one};
use crate::analysis::{MeasuredRun, RunFailure, Stop, Variant};
use crate::base::table::{Align, TextTable};
use crate::base::units::human_bytes;
use crate::base::units::{bytes_or_not, number_or_not};

/// Steps of a trial that names none: enough for a median, few enough for a dozen trials.
const STEPS: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor batch-size v3 --config small
      the fastest batch that fits in 80 % of the memory
  tinyllama-tutor batch-size v3 --exact --memory 0.95
      the limit, to the last sample")]
pub struct BatchSizeArgs {
    /// What to run, with flags of its own after a colon
    target: Entry,
    /// Share of the device's memory that may be used
    #[arg(long, value_name = "SHARE", default_value_t = 0.8)]
    memory: f64,
    /// What to look for
    #[arg(long, value_enum, default_value = "throughput")]
    optimize: Goal,
    /// Smallest batch tried
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: usize,
    /// Largest batch tried
    #[arg(long, value_name = "N", default_value_t = 4096)]
    to: usize,
    /// Find the limit to the last sample, not only to a sixteenth
    #[arg(long)]
    exact: bool,
    /// Tokens per sample
    #[arg(long, value_name = "N", help_heading = "Model")]
    seq_len: Option<usize>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: RunFlags,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    target: &'a str,
    complete: bool,
    memory_share: f64,
    #[serde(flatten)]
    search: &'a Search,
}

pub fn run(args: &BatchSizeArgs) -> Result<Exit> {
    finish(find(args))
}

fn find(args: &BatchSizeArgs) -> Result<Exit> {
    let bounds = bounds(args)?;
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let mut trials = 0;
    let found = search(args.optimize, bounds, |batch_size| {
        trials += 1;
        let variant = variant(args, batch_size);
        let turn = Turn {
            run: trials,
            of: 0,
            name: &variant.name,
        };
        match run_one(&runner, &variant, &[], turn, &mut console) {
            Ok(run) => Ok(judged(batch_size, &run, args.memory)),
            Err(RunFailure::Failed(failed)) if failed.is_out_of_memory() => Ok(Trial {
                batch_size,
                fits: false,
                bytes: None,
                samples_per_s: None,
                step_ms: None,
                note: "out of memory".into(),
            }),
            Err(other) => Err(other),
        }
    });
    drop(console);
    let (search, ended) = match found {
        Ok(search) => (search, Ok(())),
        Err((search, failure)) => (search, Err(failure)),
    };
    if args.json {
        print_json(&Document {
            target: &args.target.target,
            complete: ended.is_ok(),
            memory_share: args.memory,
            search: &search,
        })?;
    } else if !search.trials.is_empty() {
        print(&mut io::stdout().lock(), args, &search)?;
    }
    ended?;
    Ok(if search.best.is_some() {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

fn bounds(args: &BatchSizeArgs) -> Result<Bounds, UsageError> {
    if !(args.memory > 0.0 && args.memory <= 1.0) {
        return Err(UsageError(format!(
            "--memory {}: it is a share between 0 and 1, such as 0.8",
            args.memory
        )));
    }
    if args.from == 0 || args.to < args.from {
        return Err(UsageError(format!(
            "--from {} --to {}: the smallest batch is at least 1 and at most the largest",
            args.from, args.to
        )));
    }
    Ok(Bounds {
        from: args.from,
        to: args.to,
        exact: args.exact,
    })
}

fn variant(args: &BatchSizeArgs, batch_size: usize) -> Variant {
    let few = vec![format!("--num-steps={STEPS}").into()];
    let own = args.target.flags.clone();
    let mut flags = [timed(), few, args.flags.words(), own].concat();
    flags.extend(
        args.seq_len
            .map(|tokens| format!("--seq-len={tokens}").into()),
    );
    flags.push(format!("--batch-size={batch_size}").into());
    Variant {
        name: format!("{} with batch {batch_size}", args.target.target),
        target: args.target.target.clone(),
        flags,
    }
}

/// Whether the run stayed within its share of the device's memory.
fn judged(batch_size: usize, run: &MeasuredRun, share: f64) -> Trial {
    let reported = run
        .summary
        .peak_bytes_reserved
        .or(run.summary.peak_bytes_in_use);
    let estimated = run.hello.config.estimated_bytes();
    let (bytes, source) = match reported {
        Some(bytes) => (bytes, "memory as the backend reports it"),
        None => (
            estimated,
            "memory estimated from shapes: the backend reports none",
        ),
    };
    let allowed = run
        .hello
        .device_memory
        .map(|memory| (memory as f64 * share) as u64);
    let fits = allowed.is_none_or(|allowed| bytes <= allowed);
    let step_ms = middle(&total_series(std::slice::from_ref(run)));
    Trial {
        batch_size,
        fits,
        bytes: Some(bytes),
        samples_per_s: step_ms.map(|ms| batch_size as f64 / (ms / 1e3)),
        step_ms,
        note: match allowed {
            Some(allowed) if !fits => format!("more than the {} allowed", human_bytes(allowed)),
            Some(_) => source.into(),
            None => format!("{source}; the device does not say how much it has"),
        },
    }
}

fn print(out: &mut impl Write, args: &BatchSizeArgs, search: &Search) -> io::Result<()> {
    let mut table = TextTable::new(
        format!("Batch sizes of {}", args.target.text()),
        &[
            ("batch", Align::Right),
            ("step ms", Align::Right),
            ("samples/s", Align::Right),
            ("memory", Align::Right),
            ("", Align::Left),
        ],
    );
    for trial in &search.trials {
        let best = search.best == Some(trial.batch_size);
        table.rows.push(vec![
            trial.batch_size.to_string(),
            number_or_not(trial.step_ms, 3),
            number_or_not(trial.samples_per_s, 1),
            bytes_or_not(trial.bytes),
            format!("{}{}", if best { "<- best; " } else { "" }, trial.note),
        ]);
    }
    print_table(out, &table)?;
    match (search.best, search.goal) {
        (None, _) => writeln!(
            out,
            "\nNot even a batch of {} fits: lower --seq-len, --hidden or --layers.",
            args.from
        ),
        (Some(best), Goal::Memory) => writeln!(
            out,
            "\n{best} is the largest batch that stays within {:.0} % of the memory{}.",
            100.0 * args.memory,
            beyond(search)
        ),
        (Some(best), Goal::Throughput) => writeln!(
            out,
            "\n{best} is the smallest batch within {:.0} % of the best throughput that was seen{}.",
            100.0 * AS_GOOD,
            beyond(search)
        ),
    }
}

fn beyond(search: &Search) -> &'static str {
    if search.at_upper_bound {
        "; --to ended the search, a larger one fits too"
    } else {
        ""
    }
}
