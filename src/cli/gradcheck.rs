//! `gradcheck` and `verify`: check that every target computes the same loss, the same gradients and the same
//! training.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::AnalysisPage;
use super::print_result::{print_page, print_prose};
use tinyllama_base::clock::unix_time;
use tinyllama_base::table::TableColumns;
use tinyllama_base::{ScratchFolder, errln};
use tinyllama_contract::bounds;
use tinyllama_contract::event::{Body, RankCheck};
use tinyllama_contract::flags::{RunSpec, TrainingArgs, UsageError};
use tinyllama_engine::device::{self, Backend, CacheSettings, Tuning};
use tinyllama_engine::model::{Backward, Initialisation, LibraryKernels};
use tinyllama_engine::targets::gradient_check::{self, GradientComparison};
use tinyllama_engine::targets::{self, ALL, Target, TargetKind, v1, v4};
use tinyllama_engine::train::{TrainingOptions, float_dtype, library_on};
use tinyllama_runs::{Control, Launcher, Line, RunUpdate, supervise};

#[derive(Debug, Args)]
pub struct GradcheckArgs {
    /// Draw the input from this seed instead of a new one
    #[arg(long, value_name = "N")]
    input_seed: Option<u64>,
    /// Check the gradients that v4 sums over this many GPUs against those of one GPU with the whole batch
    #[arg(long, value_name = "N", conflicts_with = "input_seed", value_parser = bounds::GPUS)]
    gpus: Option<usize>,
    #[command(flatten)]
    common: CheckArgs,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Targets to check; default: all
    targets: Vec<Target>,
    #[command(flatten)]
    training: TrainingArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The document that `gradcheck --json` prints.
#[derive(Serialize)]
struct GradcheckReport {
    #[serde(flatten)]
    checked: CheckSettings,
    input_seed: u64,
    passed: bool,
    comparisons: Vec<GradientComparison>,
}

/// The document that `verify --json` prints.
#[derive(Serialize)]
struct VerifyReport {
    #[serde(flatten)]
    checked: CheckSettings,
    steps: usize,
    passed: bool,
    targets: Vec<Training>,
}

/// One target's training compared with the baseline's.
#[derive(Serialize)]
struct Training {
    target: String,
    passed: bool,
    /// Largest |a-b|/|b| of any step's loss.
    worst_difference: f64,
    losses: Vec<f64>,
}

/// The device and the tolerance of a check.
#[derive(Serialize)]
struct CheckSettings {
    device: String,
    dtype: &'static str,
    /// How burn chose the library's kernels.
    library: LibraryKernels,
    tolerance: f64,
}

pub fn gradcheck(args: &GradcheckArgs) -> Result<Exit> {
    if args.gpus.is_some() {
        return over_ranks(args);
    }
    let (entrants, checked) = args
        .common
        .entrants(every_gradient(), gradient_check::tolerance)?;
    let input_seed = args.input_seed.unwrap_or_else(fresh_seed);
    let config = &entrants[0].config;
    let comparisons =
        gradient_check::compare_with_reference(&entrants, config, input_seed, &mut computing)?;
    let mut each = comparisons.iter();
    let report = GradcheckReport {
        input_seed,
        passed: each.all(|comparison| comparison.passes(checked.tolerance)),
        checked,
        comparisons,
    };
    print_page(args.common.json, &report, &gradients(&report))?;
    Ok(Exit::from_passed(report.passed))
}

/// Says what is computed now on the error stream.
fn computing(what: &str) {
    errln!("computing {what}");
}

/// Starts a run over several GPUs for the check before its first step.
fn over_ranks(args: &GradcheckArgs) -> Result<Exit> {
    let name = v4::TARGET.name;
    if args.common.targets != [v4::TARGET] {
        bail!(UsageError(format!(
            "--gpus checks {name} alone: gradcheck {name} --gpus N"
        )));
    }
    // The run gets this command's flags unchanged.
    let run_args = std::env::args().skip_while(|word| word != "gradcheck");
    let run_args = run_args
        .skip(1)
        .filter(|word| word != name && word != "--json");
    let run_args: Vec<String> = run_args.collect();
    let once = ["--num-steps=1", "--warmup=0", "--repeatability=off"].map(str::to_owned);
    let spec = RunSpec::parse(name, &run_args)?.surrounded_by(&[], &once)?;
    let (folder, mut found) = (ScratchFolder::new()?, None::<RankCheck>);
    let start = Launcher::local_program().run(&spec);
    let ended = supervise(&start, folder.path(), &Control::default(), &mut |update| {
        if let RunUpdate::Line(Line::Event(event)) = update
            && let Body::Summary(summary) = event.body
        {
            found = summary.rank_check;
        }
        Ok(())
    })?;
    let Some(check) = found else {
        errln!("{}", ended.stderr.trim_end());
        return Ok(match Exit::from(ended.exit) {
            Exit::Ok => Exit::Failed,
            exit => exit,
        });
    };
    print_prose(args.common.json, &check, |out| {
        writeln!(
            out,
            "{name} {:<6} gradients of {} tensors, summed over {} GPUs, compared with those of one with the whole batch: worst {:.2e} ({}), at most {:.0e}",
            verdict(check.passed),
            check.tensors,
            args.gpus.unwrap_or_default(),
            check.gradient_difference,
            check.worst_parameter.as_deref().unwrap_or("none differs"),
            check.tolerance
        )
    })?;
    Ok(Exit::from_passed(check.passed))
}

pub fn verify(args: &CheckArgs) -> Result<Exit> {
    if args.training.num_steps > 1000 {
        bail!(UsageError(
            "--num-steps above 1000 shows nothing more about equality".into()
        ));
    }
    let versions = Target::versions().collect();
    let (entrants, checked) = args.entrants(versions, gradient_check::training_tolerance)?;
    let runs = gradient_check::train_side_by_side(&entrants, &mut computing)?;
    let baseline = runs[0].losses.clone();
    let judged = runs.into_iter().map(|run| {
        let worst_difference = gradient_check::largest_difference(&run.losses, &baseline);
        Training {
            target: run.target.to_string(),
            passed: worst_difference <= checked.tolerance,
            worst_difference,
            losses: run.losses,
        }
    });
    let targets: Vec<Training> = judged.collect();
    let report = VerifyReport {
        steps: args.training.num_steps,
        passed: targets.iter().all(|training| training.passed),
        checked,
        targets,
    };
    print_prose(args.json, &report, |out| print_trainings(out, &report))?;
    Ok(Exit::from_passed(report.passed))
}

/// Targets that cover every way to compute a gradient: the versions, and the stages with other computations. Stages
/// that differ only in initial values or their clock compute no other gradient. The last stage has no gradients to
/// check; it reports that if the user names it.
fn every_gradient() -> Vec<Target> {
    let new = |at: usize| {
        let target = &ALL[at];
        let mut others = ALL[at + 1..].iter();
        let later = others.any(|other| other.recipe == target.recipe);
        let plain = target.recipe.initialisation == Initialisation::Small
            && target.recipe.backward == Backward::Complete;
        let of_a_version = Target::versions().any(|version| version.recipe == target.recipe);
        target.kind == TargetKind::Version
            || (target.kind == TargetKind::Stage && plain && !later && !of_a_version)
    };
    let new = (0..ALL.len()).filter(|at| new(*at));
    new.map(|at| ALL[at]).collect()
}

impl CheckArgs {
    /// The targets with their options. The baseline comes first and ignores the optimization switches, because the
    /// others are compared with it. Without named targets, it takes all those that compute in the chosen type on the
    /// device.
    fn entrants(
        &self,
        all: Vec<Target>,
        tolerance: fn(burn::tensor::FloatDType, Backend, LibraryKernels) -> f64,
    ) -> Result<(Vec<TrainingOptions>, CheckSettings)> {
        let training = &self.training;
        let mut baseline = TrainingOptions {
            recipe: v1::TARGET.recipe,
            ..training.options_of_any(v1::TARGET)?
        };
        let wanted = match self.targets.as_slice() {
            [] => {
                let all = all.into_iter();
                all.filter(|t| t.engine.computes(training)).collect()
            }
            named => named.to_vec(),
        };
        let fusion = training.switches.graph_fusion;
        device::configure_runtime(CacheSettings {
            fusion: fusion.is_none_or(|switch| switch.is_on()),
            tuning: training.switches.tuning.unwrap_or(Tuning::Off),
        });
        let device = targets::open(&baseline)?;
        let backend = device.backend();
        // The plainest kernels by default, on backends that offer a choice.
        let plainly = backend.is_asynchronous().then_some(Tuning::Off);
        let tuning = training.switches.tuning.or(plainly);
        baseline.flags.switches.tuning = tuning;
        let library = library_on(&baseline, backend);
        let checked = CheckSettings {
            device: device.facts().device.clone(),
            dtype: baseline.operand_dtype().name(),
            library,
            tolerance: tolerance(float_dtype(baseline.operand_dtype()), backend, library),
        };
        let mut entrants = vec![baseline];
        for target in wanted.into_iter().filter(|target| *target != v1::TARGET) {
            let mut options = match self.targets.as_slice() {
                [_] => training.options(target)?,
                _ => training.options_of_any(target)?,
            };
            options.flags.switches.tuning = tuning;
            entrants.push(options);
        }
        Ok((entrants, checked))
    }
}

/// A seed that differs every time. The command prints it so that a failure can be repeated.
pub fn fresh_seed() -> u64 {
    unix_time().as_nanos() as u64
}

pub fn verdict(ok: bool) -> &'static str {
    if ok { "ok" } else { "FAILED" }
}

fn print_trainings(out: &mut impl Write, report: &VerifyReport) -> io::Result<()> {
    let (steps, checked) = (report.steps, &report.checked);
    let (device, most) = (&checked.device, checked.tolerance);
    writeln!(
        out,
        "{steps} steps on {device}, losses against v1, at most {most:.0e} apart"
    )?;
    for training in &report.targets {
        let last = training.losses.last().copied().unwrap_or(f64::NAN);
        let (target, verdict) = (&training.target, verdict(training.passed));
        let worst = training.worst_difference;
        writeln!(
            out,
            "  {target:<8} {verdict:<6}  worst step {worst:.2e}, last loss {last:.6}"
        )?;
    }
    Ok(())
}

fn gradients(report: &GradcheckReport) -> AnalysisPage {
    let (checked, seed) = (&report.checked, report.input_seed);
    let (device, dtype, most) = (&checked.device, checked.dtype, checked.tolerance);
    let title = format!(
        "gradients on {device} in {dtype}, against v1 in f64 on the CPU; input seed {seed}; ‖a-b‖/‖b‖ at most {most:.0e}"
    );
    let table = TableColumns::titled(title, &report.comparisons)
        .left("target", |it| it.target.to_string())
        .left("", move |it| verdict(it.passes(most)).to_owned())
        .right("loss", |it| format!("{:.2e}", it.loss_difference))
        .right("with gradient", |it| {
            format!("{} of {}", it.with_gradient, it.tensors)
        })
        .right("worst", |it| format!("{:.2e}", it.worst_difference))
        .left("worst parameter", |it| it.worst_parameter.to_string());
    let mut page = AnalysisPage::default();
    page.first_table(table);
    page
}
