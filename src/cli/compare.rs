//! `compare`: targets, or runs that were kept, side by side.

use std::ffi::OsString;
use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{
    Console, Entry, MeasureFlags, RunFlags, SizeFlags, finish, kept_run, print_json, print_table,
    timed, workshop_table,
};
use super::training_args::UsageError;
use crate::analysis::comparison::{Comparison, Made, Side, compare};
use crate::analysis::turns::{Turn, run_one, take_turns};
use crate::analysis::workshop::{self, Confronted};
use crate::analysis::{MeasuredRun, Stop, Variant};
use crate::base::table::{Align, TextTable};
use crate::base::units::{bytes_or_not, number_or_not, rate};
use crate::run::folder;

/// Steps of the profile pass that `--workshop` needs for the time of parts.
const PROFILED_STEPS: usize = 3;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor compare v1 v2 v3 v4 --config small
      the versions, three rounds in turns
  tinyllama-tutor compare v2 v2:--graph-fusion=off
      one switch
  tinyllama-tutor compare v1 v4 --workshop
      beside the workshop's own figures
  tinyllama-tutor compare RUN RUN
      runs that were kept, by id or folder")]
pub struct CompareArgs {
    /// Targets (`v1`, `v2:--graph-fusion=off`), or kept runs by id or folder
    #[arg(required = true, value_name = "TARGET OR RUN")]
    compared: Vec<String>,
    #[command(flatten)]
    measure: MeasureFlags,
    /// Leave out the run of each target that times forward, backward and optimizer apart
    #[arg(long)]
    no_phases: bool,
    /// Set the workshop's own figures beside those measured here
    #[arg(long)]
    workshop: bool,
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
    #[serde(flatten)]
    comparison: &'a Comparison,
    #[serde(skip_serializing_if = "Option::is_none")]
    workshop: Option<&'a [Confronted]>,
}

pub fn run(args: &CompareArgs) -> Result<Exit> {
    finish(compare_all(args))
}

fn compare_all(args: &CompareArgs) -> Result<Exit> {
    let comparison = match kept(args)? {
        Some(runs) => of_kept(args, &runs)?,
        None => measured(args)?,
    };
    let confronted = args.workshop.then(|| workshop::confront(&comparison.rows));
    if args.json {
        print_json(&Document {
            comparison: &comparison,
            workshop: confronted.as_deref(),
        })?;
    } else {
        print(&mut io::stdout().lock(), &comparison, confronted.as_deref())?;
    }
    Ok(Exit::Ok)
}

/// The runs that were named; none when all are targets.
fn kept(args: &CompareArgs) -> Result<Option<Vec<(String, MeasuredRun)>>> {
    let root = folder::state_folder()?;
    let found = args
        .compared
        .iter()
        .map(|text| kept_run(text, &root))
        .collect::<Result<Vec<_>>>()?;
    let count = found.iter().flatten().count();
    if count == 0 {
        return Ok(None);
    }
    if count < found.len() {
        bail!(UsageError(
            "targets and kept runs cannot be mixed: the targets would run now, the others ran at another time. \
             Run the target first, then name its run"
                .into()
        ));
    }
    let runs = args
        .compared
        .iter()
        .zip(found.into_iter().flatten())
        .map(|(text, kept)| {
            let run = MeasuredRun::read(&kept.path)?;
            let id = kept
                .path
                .file_name()
                .map_or_else(|| text.clone(), |name| name.to_string_lossy().into_owned());
            Ok((format!("{} {id}", run.hello.target), run))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(runs))
}

fn of_kept(args: &CompareArgs, runs: &[(String, MeasuredRun)]) -> Result<Comparison> {
    let (_, confidence) = args.measure.checked()?;
    let sides: Vec<Side<'_>> = runs
        .iter()
        .map(|(name, run)| Side {
            name: name.clone(),
            runs: std::slice::from_ref(run),
            phases: None,
        })
        .collect();
    Ok(compare(&sides, Made::Apart, confidence))
}

fn measured(args: &CompareArgs) -> Result<Comparison> {
    let (rounds, confidence) = args.measure.checked()?;
    let variants = variants(args)?;
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let runs = take_turns(&runner, &variants, rounds, &mut console)?;
    let mut phases = Vec::new();
    if !args.no_phases {
        let flags = phase_flags(args.workshop);
        for (at, variant) in variants.iter().enumerate() {
            let turn = Turn {
                run: at + 1,
                of: variants.len(),
                name: &format!("{}, phases timed apart", variant.name),
            };
            phases.push(run_one(&runner, variant, &flags, turn, &mut console)?);
        }
    }
    let sides: Vec<Side<'_>> = variants
        .iter()
        .enumerate()
        .map(|(at, variant)| Side {
            name: variant.name.clone(),
            runs: &runs[at],
            phases: phases.get(at),
        })
        .collect();
    Ok(compare(&sides, Made::InTurns, confidence))
}

fn variants(args: &CompareArgs) -> Result<Vec<Variant>> {
    let common = [timed(), args.flags.words(), args.size.words()].concat();
    let entries = args
        .compared
        .iter()
        .map(|text| text.parse::<Entry>().map_err(UsageError))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(entries.iter().map(|entry| entry.variant(&common)).collect())
}

fn phase_flags(with_parts: bool) -> Vec<OsString> {
    let mut flags: Vec<OsString> = vec![
        "--sync=phases".into(),
        "--repeatability=off".into(),
        "--flops".into(),
    ];
    if with_parts {
        flags.push(format!("--profile-steps={PROFILED_STEPS}").into());
    }
    flags
}

fn print(
    out: &mut impl Write,
    comparison: &Comparison,
    confronted: Option<&[Confronted]>,
) -> io::Result<()> {
    if let Some(row) = comparison.rows.first() {
        writeln!(out, "{} ({})", row.device, row.backend)?;
    }
    print_table(out, &times(comparison))?;
    print_table(out, &figures(comparison))?;
    if let Some(confronted) = confronted {
        print_table(out, &workshop_table(confronted, &workshop::NOTES))?;
    }
    for warning in &comparison.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}

fn times(comparison: &Comparison) -> TextTable {
    let mut table = TextTable::new(
        "Step time",
        &[
            ("", Align::Left),
            ("step ms", Align::Right),
            ("range of runs", Align::Right),
            ("speed-up", Align::Right),
            ("finding", Align::Left),
        ],
    );
    for row in &comparison.rows {
        let (speedup, finding) = match &row.relative_time {
            Some(time) => (time.speedup_text(), time.finding_text()),
            None => ("1x".into(), "compared with".into()),
        };
        table.rows.push(vec![
            row.name.clone(),
            number_or_not(row.step_ms, 3),
            range(&row.step_ms_of_runs),
            speedup,
            finding,
        ]);
    }
    table.notes.push(format!(
        "step ms: median of the runs' medians; speed-up: over the first row, with its {:.0} % interval; a difference under {:.0} % counts as none",
        100.0 * comparison.confidence,
        100.0 * comparison.margin
    ));
    table
}

fn range(medians: &[f64]) -> String {
    let (low, high) = medians
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ms| {
            (low.min(*ms), high.max(*ms))
        });
    match medians.len() {
        0 | 1 => "one run".into(),
        _ => format!("{low:.3} to {high:.3}"),
    }
}

fn figures(comparison: &Comparison) -> TextTable {
    let mut table = TextTable::new(
        "Phases and costs",
        &[
            ("", Align::Left),
            ("forward", Align::Right),
            ("backward", Align::Right),
            ("optimizer", Align::Right),
            ("launches", Align::Right),
            ("memory", Align::Right),
            ("samples/s", Align::Right),
            ("achieved", Align::Right),
            ("energy", Align::Right),
            ("loss", Align::Right),
            ("gradients", Align::Right),
        ],
    );
    for row in &comparison.rows {
        table.rows.push(vec![
            row.name.clone(),
            number_or_not(row.phases.forward_ms, 3),
            number_or_not(row.phases.backward_ms, 3),
            number_or_not(row.phases.optimizer_ms, 3),
            number_or_not(row.launches_per_step, 0),
            bytes_or_not(row.peak_bytes_reserved.or(row.peak_bytes_in_use)),
            number_or_not(row.samples_per_s, 1),
            row.flops_per_s
                .map_or("not counted".into(), |flops| rate(flops, "FLOP")),
            row.energy_per_step
                .map_or("not measured".into(), |energy| energy.to_string()),
            number_or_not(row.final_loss, 4),
            row.parameters_with_gradient
                .map_or("not reported".into(), |with| {
                    format!("{with} of {}", row.parameter_tensors)
                }),
        ]);
    }
    table.notes.push(
        "phases: ms, from a run that waits for the device after each, which costs time of its own; launches: a step; \
         memory: taken from the device; achieved: FLOP counted from shapes over the median step; energy: of the whole device, a step, from its power once a second \
         with the 95 % interval of its mean"
            .into(),
    );
    table
}
