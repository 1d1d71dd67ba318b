//! `regress`: today's runs against a baseline in a file, for continuous integration.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{
    Console, Entry, MeasureFlags, RunFlags, SizeFlags, finish, junit, paths, print_json,
    print_table, timed,
};
use super::training_args::UsageError;
use crate::analysis::comparison::total_series;
use crate::analysis::regression::{
    Baseline, BaselineError, Figure, Outcome, RunFigures, Verdict, check, check_speedup,
};
use crate::analysis::turns::take_turns;
use crate::analysis::{MeasuredRun, Stop};
use crate::base::table::{Align, TextTable};

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor regress v1 v3 --config small --baseline base.json --save
      keep today's figures
  tinyllama-tutor regress --baseline base.json --ci junit.xml
      compare with them, same targets and flags
  tinyllama-tutor regress v3 --against v1 --min-speedup 1.3
      no baseline, one target against another")]
pub struct RegressArgs {
    /// Targets to run; without any, those of the baseline with its flags
    targets: Vec<Entry>,
    /// The file figures are compared with, or saved to; not needed with --min-speedup
    #[arg(long, value_name = "FILE", required_unless_present = "min_speedup")]
    baseline: Option<PathBuf>,
    /// Save today's figures as the baseline instead of comparing with it
    #[arg(long, requires = "baseline")]
    save: bool,
    /// How much worse a figure may be, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    tolerance: f64,
    /// Every target has to be so many times as fast as the one of --against
    #[arg(long, value_name = "FACTOR", requires = "against")]
    min_speedup: Option<f64>,
    /// The target that speed-ups are taken over; it runs in turns with the others
    #[arg(long, value_name = "TARGET", requires = "min_speedup")]
    against: Option<Entry>,
    /// Fail also where the spread is too large to tell [default: only a certain regression fails]
    #[arg(long)]
    strict: bool,
    /// Write the outcomes as JUnit XML
    #[arg(long, value_name = "FILE")]
    ci: Option<PathBuf>,
    #[command(flatten)]
    measure: MeasureFlags,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeFlags,
    #[command(flatten)]
    flags: RunFlags,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    passed: bool,
    /// Null where only speed-ups were asked for.
    baseline: Option<&'a Path>,
    strict: bool,
    rounds: usize,
    /// A share: 0.05 for 5 %.
    tolerance: f64,
    confidence: f64,
    outcomes: &'a [Outcome],
    runs: Vec<String>,
}

pub fn run(args: &RegressArgs) -> Result<Exit> {
    finish(regress(args))
}

fn regress(args: &RegressArgs) -> Result<Exit> {
    let (rounds, confidence) = args.measure.checked()?;
    let tolerance = tolerance(args)?;
    let baseline = match &args.baseline {
        Some(path) if !args.save => {
            Some(Baseline::read(path).map_err(|error| UsageError(error.to_string()))?)
        }
        _ => None,
    };
    let plan = plan(args, baseline.as_ref())?;
    let variants: Vec<_> = plan
        .entries
        .iter()
        .map(|entry| entry.variant(&plan.common))
        .collect();
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let runs = take_turns(&runner, &variants, rounds, &mut console)?;
    drop(console);
    if let Some(path) = args.baseline.as_deref().filter(|_| args.save) {
        return save(args, path, &plan, &runs);
    }
    let outcomes = judge(
        args,
        &plan,
        baseline.as_ref(),
        &runs,
        (tolerance, confidence),
    )?;
    let failed = |outcome: &Outcome| match outcome.verdict {
        Verdict::Regression => true,
        Verdict::Inconclusive => args.strict,
        Verdict::Passed | Verdict::NotCompared => false,
    };
    let passed = !outcomes.iter().any(failed);
    if let Some(path) = &args.ci {
        junit::write(path, &outcomes, args.strict)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        print_json(&Document {
            passed,
            baseline: args.baseline.as_deref(),
            strict: args.strict,
            rounds,
            tolerance,
            confidence,
            outcomes: &outcomes,
            runs: paths(&runs),
        })?;
    } else {
        print(&mut io::stdout().lock(), &outcomes, args)?;
    }
    Ok(if passed { Exit::Ok } else { Exit::Failed })
}

fn tolerance(args: &RegressArgs) -> Result<f64> {
    if !(args.tolerance.is_finite() && args.tolerance >= 0.0) {
        bail!(UsageError(format!(
            "--tolerance {}: it is a number of per cent, such as 5",
            args.tolerance
        )));
    }
    if let Some(least) = args.min_speedup
        && !(least.is_finite() && least > 0.0)
    {
        bail!(UsageError(format!(
            "--min-speedup {least}: it is a factor above 0, such as 1.3"
        )));
    }
    Ok(args.tolerance / 100.0)
}

/// What runs, the target of --against last where it is not among the others.
struct Plan {
    entries: Vec<Entry>,
    common: Vec<OsString>,
    against: Option<usize>,
}

fn plan(args: &RegressArgs, baseline: Option<&Baseline>) -> Result<Plan> {
    let mut common = [timed(), args.flags.words(), args.size.words()].concat();
    let mut entries = args.targets.clone();
    if entries.is_empty() {
        let Some(baseline) = baseline else {
            bail!(UsageError(
                "name the targets: `regress v1 v3 --baseline FILE --save`, `regress v3 --against v1 --min-speedup 1.3`"
                    .into()
            ));
        };
        for target in &baseline.targets {
            let entry: Entry = target
                .entry
                .parse()
                .map_err(|error| UsageError(format!("{}: {error}", source(args))))?;
            entries.push(entry);
        }
        let saved = baseline.flags.iter().map(OsString::from);
        common = saved.chain(common).collect();
    }
    let against = args.against.as_ref().map(|against| {
        entries
            .iter()
            .position(|entry| entry == against)
            .unwrap_or_else(|| {
                entries.push(against.clone());
                entries.len() - 1
            })
    });
    if entries.is_empty() {
        bail!(UsageError(format!("{} names no target", source(args))));
    }
    Ok(Plan {
        entries,
        common,
        against,
    })
}

/// What figures are compared with, in words.
fn source(args: &RegressArgs) -> String {
    args.baseline.as_ref().map_or_else(
        || "each other".into(),
        |path| format!("the baseline {}", path.display()),
    )
}

fn save(args: &RegressArgs, path: &Path, plan: &Plan, runs: &[Vec<MeasuredRun>]) -> Result<Exit> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let flags = plan
        .common
        .iter()
        .map(|flag| flag.to_string_lossy().into_owned())
        .collect();
    let mut baseline = Baseline::new(flags, now.as_secs());
    for (entry, runs) in plan.entries.iter().zip(runs) {
        baseline.add(entry.text(), runs);
    }
    baseline.write(path)?;
    if args.json {
        print_json(&baseline)?;
    } else {
        println!(
            "saved {} in {}",
            plan.entries
                .iter()
                .map(Entry::text)
                .collect::<Vec<_>>()
                .join(", "),
            path.display()
        );
    }
    Ok(Exit::Ok)
}

fn judge(
    args: &RegressArgs,
    plan: &Plan,
    baseline: Option<&Baseline>,
    runs: &[Vec<MeasuredRun>],
    (tolerance, confidence): (f64, f64),
) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for (at, (entry, runs)) in plan.entries.iter().zip(runs).enumerate() {
        let text = entry.text();
        let Some(baseline) = baseline else { continue };
        let Some(target) = baseline.target(&text) else {
            if plan.against != Some(at) {
                outcomes.push(not_in_baseline(text));
            }
            continue;
        };
        if let Some(run) = runs.first() {
            target
                .check_circumstances(&run.hello)
                .map_err(|error: BaselineError| UsageError(error.to_string()))?;
        }
        let today: Vec<RunFigures> = runs.iter().map(RunFigures::of).collect();
        outcomes.extend(check(&text, &today, &target.runs, tolerance, confidence));
    }
    if let (Some(least), Some(against)) = (args.min_speedup, plan.against) {
        let others = total_series(&runs[against]);
        for (at, entry) in plan
            .entries
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != against)
        {
            outcomes.push(check_speedup(
                &entry.text(),
                &total_series(&runs[at]),
                &plan.entries[against].text(),
                &others,
                least,
                confidence,
            ));
        }
    }
    if outcomes
        .iter()
        .all(|outcome| outcome.verdict == Verdict::NotCompared)
    {
        bail!(UsageError(format!(
            "{} holds none of these targets, and there is no --min-speedup: nothing was compared",
            source(args)
        )));
    }
    Ok(outcomes)
}

fn not_in_baseline(target: String) -> Outcome {
    Outcome {
        target,
        figure: Figure::StepTime,
        verdict: Verdict::NotCompared,
        ratio: None,
        interval: None,
        message: "the baseline holds no figures of it: save it there first".into(),
    }
}

fn print(out: &mut impl Write, outcomes: &[Outcome], args: &RegressArgs) -> io::Result<()> {
    let mut table = TextTable::new(
        format!("Against {}", source(args)),
        &[
            ("target", Align::Left),
            ("figure", Align::Left),
            ("verdict", Align::Left),
            ("", Align::Left),
        ],
    );
    table.rows = outcomes
        .iter()
        .map(|outcome| {
            let verdict = match outcome.verdict {
                Verdict::Passed => "passed",
                Verdict::Regression => "REGRESSION",
                Verdict::Inconclusive => "inconclusive",
                Verdict::NotCompared => "not compared",
            };
            vec![
                outcome.target.clone(),
                outcome.figure.name().into(),
                verdict.into(),
                outcome.message.clone(),
            ]
        })
        .collect();
    print_table(out, &table)
}
