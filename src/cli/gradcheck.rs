//! `gradcheck` and `verify`: whether every target computes the same loss, the same gradients and the same training.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::training_args::{Dtype, TrainingArgs, UsageError};
use crate::device::{self, BackendChoice, CacheSettings, OpenDevice, Tuning};
use crate::model::{LibraryKernels, Recipe, Target};
use crate::train::Options;
use crate::train::gradient_check::{self, Comparison};
use crate::train::ultra::{Gemm, MatmulPrecision};

#[derive(Debug, Args)]
pub struct GradcheckArgs {
    /// Targets to check; all where none is named
    targets: Vec<Target>,
    /// Draw the input from this seed instead of a fresh one
    #[arg(long, value_name = "N")]
    input_seed: Option<u64>,
    /// How much is tried out before a kernel is chosen. Numbers can be checked without: on a GPU the default is off
    #[arg(long, value_enum, value_name = "HOW MUCH")]
    tuning: Option<Tuning>,
    #[command(flatten)]
    training: TrainingArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Targets to train side by side; all where none is named
    targets: Vec<Target>,
    /// How much is tried out before a kernel is chosen. Numbers can be checked without: on a GPU the default is off
    #[arg(long, value_enum, value_name = "HOW MUCH")]
    tuning: Option<Tuning>,
    #[command(flatten)]
    training: TrainingArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What `gradcheck --json` prints.
#[derive(Serialize)]
struct Report {
    device: String,
    input_seed: u64,
    dtype: String,
    /// How the library's kernels were chosen.
    library: LibraryKernels,
    tolerance: f64,
    passed: bool,
    comparisons: Vec<Comparison>,
}

/// Every way a gradient is computed: the versions, and the stages with kernels of their own. Stage 6 has no gradients to
/// check, which it shows when it is named.
///
/// V4 comes last in both lists: its host form knows f32 only, and none of its forms f16, so it is left out there.
const GRADIENTS: [Target; 6] = [
    Target::V1,
    Target::V2,
    Target::V3,
    Target::Stage2,
    Target::Stage4,
    Target::V4,
];
const VERSIONS: [Target; 4] = Target::VERSIONS;

fn default_targets<'a>(all: &'a [Target], training: &TrainingArgs) -> &'a [Target] {
    let on_gpu = !matches!(training.backend, BackendChoice::Auto | BackendChoice::Cpu);
    match training.dtype {
        Dtype::F32 => all,
        Dtype::Bf16 if on_gpu || training.gemm == Gemm::Cubek => all,
        _ => &all[..all.len() - 1],
    }
}

pub fn gradcheck(args: &GradcheckArgs) -> Result<Exit> {
    let targets = chosen(&args.targets, default_targets(&GRADIENTS, &args.training));
    let recipes = recipes(&targets, &args.training)?;
    let (open, library) = open(&args.training, args.tuning)?;
    let options = options(&args.training, library)?;
    open.require_dtype(options.operand_dtype)?;
    let seed = args.input_seed.unwrap_or_else(fresh_seed);
    let tolerance = gradient_check::tolerance(options.operand_dtype, &open, library);
    let mut comparisons = gradient_check::against_reference(
        &recipes,
        &options.config,
        options.operand_dtype,
        library,
        seed,
        &open,
    )?;
    if targets.contains(&Target::V4) {
        let device = args.training.ultra_device()?;
        let comparison = gradient_check::ultra_against_reference(&options, seed, &device)?;
        comparisons.push(comparison);
    }
    let report = Report {
        device: open.name.clone(),
        input_seed: seed,
        dtype: format!("{:?}", options.operand_dtype).to_lowercase(),
        library,
        tolerance,
        passed: comparisons
            .iter()
            .all(|comparison| comparison.passes(tolerance)),
        comparisons,
    };
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        print(&mut out, &report)?;
    }
    Ok(if report.passed {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

pub fn verify(args: &VerifyArgs) -> Result<Exit> {
    let targets = chosen(&args.targets, default_targets(&VERSIONS, &args.training));
    if args.training.num_steps > 1000 {
        bail!(UsageError(
            "--num-steps above 1000 says nothing more about equality".into()
        ));
    }
    let recipes = recipes(&targets, &args.training)?;
    let (open, library) = open(&args.training, args.tuning)?;
    let options = options(&args.training, library)?;
    open.require_dtype(options.operand_dtype)?;
    let tolerance = gradient_check::training_tolerance(options.operand_dtype, &open, library);
    let mut runs = gradient_check::train_side_by_side(&recipes, &options, library, &open)?;
    if targets.contains(&Target::V4) {
        let device = args.training.ultra_device()?;
        runs.push(gradient_check::train_ultra(&options, &device)?);
    }
    let baseline = &runs[0].losses;
    let mut out = io::stdout().lock();
    let mut passed = true;
    let mut rows = Vec::new();
    for run in &runs {
        let worst = gradient_check::largest_difference(&run.losses, baseline);
        let ok = worst <= tolerance;
        passed &= ok;
        rows.push((run.target.to_string(), worst, ok, run.losses.clone()));
    }
    if args.json {
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)?;
    } else {
        writeln!(
            out,
            "{} steps on {}, losses against v1, at most {tolerance:.0e} apart",
            args.training.num_steps, open.name
        )?;
        for (target, worst, ok, losses) in &rows {
            let last = losses.last().copied().unwrap_or(f64::NAN);
            writeln!(
                out,
                "  {target:<8} {}  worst step {worst:.2e}, last loss {last:.6}",
                verdict(*ok)
            )?;
        }
    }
    Ok(if passed { Exit::Ok } else { Exit::Failed })
}

fn chosen(named: &[Target], default: &[Target]) -> Vec<Target> {
    // The baseline is what the others are compared with.
    let mut targets = vec![Target::V1];
    let rest = if named.is_empty() { default } else { named };
    targets.extend(rest.iter().copied().filter(|target| *target != Target::V1));
    targets
}

/// What burn carries out of `targets`. The baseline is one, so switches are for the others.
fn recipes(targets: &[Target], training: &TrainingArgs) -> Result<Vec<(Target, Recipe)>> {
    targets
        .iter()
        .filter(|target| **target != Target::V4)
        .map(|target| {
            let recipe = match target {
                Target::V1 => target.recipe(),
                _ => training.switches.apply(*target)?,
            };
            Ok((*target, recipe))
        })
        .collect()
}

/// The device, and how the library's kernels are chosen on it: plainly unless asked otherwise, where there is a choice.
fn open(training: &TrainingArgs, tuning: Option<Tuning>) -> Result<(OpenDevice, LibraryKernels)> {
    device::configure_runtime(CacheSettings {
        fusion: training
            .switches
            .graph_fusion
            .is_none_or(|switch| switch.is_on()),
        tuning: tuning.unwrap_or(Tuning::Off),
    });
    let open = device::open(training.backend, training.device.as_deref())?;
    let library = match tuning {
        Some(Tuning::Off) => LibraryKernels::Plain,
        None if open.backend.is_asynchronous() => LibraryKernels::Plain,
        _ => LibraryKernels::Tuned,
    };
    Ok((open, library))
}

/// Sizes and types for every target; V4's products keep all bits where the library's do.
fn options(training: &TrainingArgs, library: LibraryKernels) -> Result<Options> {
    let mut options = training.options(Target::V1)?;
    if library == LibraryKernels::Plain {
        options.ultra.matmul_precision = MatmulPrecision::F32;
    }
    Ok(options)
}

/// Different every time: the seed is printed, so that a failure can be repeated.
pub fn fresh_seed() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_nanos() as u64)
}

fn verdict(ok: bool) -> &'static str {
    if ok { "ok    " } else { "FAILED" }
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(
        out,
        "gradients on {} in {}, against v1 in f64 on the CPU; input seed {}; ‖a-b‖/‖b‖ at most {:.0e}",
        report.device, report.dtype, report.input_seed, report.tolerance
    )?;
    writeln!(
        out,
        "  {:<8} {:<7} {:>12} {:>14} {:>12}  worst parameter",
        "target", "", "loss", "with gradient", "worst"
    )?;
    for comparison in &report.comparisons {
        writeln!(
            out,
            "  {:<8} {:<7} {:>12.2e} {:>14} {:>12.2e}  {}",
            comparison.target,
            verdict(comparison.passes(report.tolerance)),
            comparison.loss_difference,
            format!("{} of {}", comparison.with_gradient, comparison.tensors),
            comparison.worst_difference,
            comparison.worst_parameter
        )?;
    }
    Ok(())
}
