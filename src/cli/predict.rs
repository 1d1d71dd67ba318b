//! `predict`: the step time of a model that was never run, from runs that were.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{Console, Entry, RunFlags, finish, print_json, print_table, timed};
use super::training_args::UsageError;
use crate::analysis::calibration::Calibration;
use crate::analysis::comparison::total_series;
use crate::analysis::prediction::{
    Coefficients, Features, Form, LEAST_CONFIGURATIONS, Observation, TimeModel, launches, merged,
};
use crate::analysis::relative::middle;
use crate::analysis::turns::take_turns_without;
use crate::analysis::{MeasuredRun, Stop, Variant};
use crate::base::table::{Align, TextTable};
use crate::base::units::human_bytes;
use crate::base::units::rate;
use crate::model::ModelConfig;
use crate::run::folder;

/// Median error on held-out sizes beyond which a prediction says too little.
const USEFUL_ERROR: f64 = 0.25;

/// Kept runs that are looked at, newest first.
const MOST_RUNS: usize = 400;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor predict v3 --seq-len 512 --batch-size 16
      from the runs that were kept
  tinyllama-tutor predict v3 --learn --config small --seq-len 1024
      from eight small runs made first")]
pub struct PredictArgs {
    /// What would run, with flags of its own after a colon
    target: Entry,
    /// Samples per step [default: those of the newest run, as for every number of the model]
    #[arg(long, value_name = "N", help_heading = "Model")]
    batch_size: Option<usize>,
    /// Tokens per sample
    #[arg(long, value_name = "N", help_heading = "Model")]
    seq_len: Option<usize>,
    /// Run the target in eight sizes first (sequence 32 to 512, batch 2 to 8), so that there is something to learn from
    #[arg(long)]
    learn: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: RunFlags,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Prediction {
    target: String,
    device: String,
    backend: String,
    /// Of the runs that were learned from: type of the products' operands, how products were carried out, and what a step
    /// waited for.
    dtype: String,
    matmul_precision: String,
    synchronize: String,
    config: ModelConfig,
    features: Features,
    /// Of the model fitted to runs; null where there were too few.
    step_ms: Option<f64>,
    /// By the largest errors on held-out configurations.
    low_ms: Option<f64>,
    high_ms: Option<f64>,
    samples_per_s: Option<f64>,
    peak_bytes: Option<f64>,
    /// The longest of launching, computing and moving at the calibrated rates; null where nothing was calibrated.
    ceiling_ms: Option<f64>,
    model: Option<TimeModel>,
    configurations: usize,
    runs: usize,
    /// Whether the same configuration was among the runs.
    seen: bool,
}

pub fn run(args: &PredictArgs) -> Result<Exit> {
    finish(predict(args))
}

fn predict(args: &PredictArgs) -> Result<Exit> {
    let root = folder::state_folder()?;
    if args.learn {
        learn(args)?;
    }
    let runs = kept_runs(args, &root)?;
    let Some(newest) = runs.first() else {
        bail!(UsageError(format!(
            "no kept run of {} to learn from: run it in a few sizes first, or add --learn",
            args.target.target
        )));
    };
    let prediction = from_runs(args, newest, &runs, &root)?;
    if args.json {
        print_json(&prediction)?;
    } else {
        print(&mut io::stdout().lock(), &prediction)?;
    }
    Ok(Exit::Ok)
}

/// Sizes around those of the command line, smallest first.
fn learn(args: &PredictArgs) -> Result<()> {
    const SIZES: [(usize, usize); 8] = [
        (32, 2),
        (64, 4),
        (64, 8),
        (128, 4),
        (128, 8),
        (256, 4),
        (256, 8),
        (512, 4),
    ];
    let variants: Vec<Variant> = SIZES
        .iter()
        .map(|(sequence, batch)| {
            let mut flags = [timed(), args.flags.words(), args.target.flags.clone()].concat();
            flags.push(format!("--seq-len={sequence}").into());
            flags.push(format!("--batch-size={batch}").into());
            Variant {
                name: format!("{}, sequence {sequence}, batch {batch}", args.target.target),
                target: args.target.target.clone(),
                flags,
            }
        })
        .collect();
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let mut without = Vec::new();
    take_turns_without(&runner, &variants, 1, &mut console, |failed| {
        if failed.is_out_of_memory() {
            without.push(failed.variant.clone());
            return Ok(());
        }
        Err(crate::analysis::RunFailure::Failed(failed))
    })?;
    for variant in without {
        console.say(&format!("{variant}: out of memory, left out"));
    }
    Ok(())
}

/// Finished, synchronised runs of the target under the same conditions, newest first: of the newest ones that were run in
/// enough sizes, or where there are none, of the newest.
fn kept_runs(args: &PredictArgs, root: &Path) -> Result<Vec<MeasuredRun>> {
    let entries = match std::fs::read_dir(root.join("runs")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error.into()),
    };
    let mut folders: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    // Names begin with the time.
    folders.sort();
    let mut groups: Vec<Vec<MeasuredRun>> = Vec::new();
    for folder in folders.iter().rev().take(MOST_RUNS) {
        // A run that failed, or still goes on, tells no time.
        let Ok(run) = MeasuredRun::read(folder) else {
            continue;
        };
        let wanted = run.hello.target == args.target.target
            && run.summary.synchronized
            && args
                .flags
                .dtype
                .as_ref()
                .is_none_or(|dtype| *dtype == run.hello.dtype)
            && args
                .flags
                .backend
                .as_ref()
                .is_none_or(|backend| backend == "auto" || *backend == run.hello.backend);
        if !wanted {
            continue;
        }
        match groups.iter_mut().find(|group| alike(&group[0], &run)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    let enough = groups.iter().position(|runs| {
        let observations: Vec<Observation> = runs.iter().filter_map(observation).collect();
        merged(&observations).len() >= LEAST_CONFIGURATIONS
    });
    let chosen = enough.unwrap_or(0);
    Ok(groups.into_iter().nth(chosen).unwrap_or_default())
}

fn alike(a: &MeasuredRun, b: &MeasuredRun) -> bool {
    let (a, b) = (&a.hello, &b.hello);
    a.device == b.device
        && a.backend == b.backend
        && a.driver == b.driver
        && a.dtype == b.dtype
        && a.matmul_precision == b.matmul_precision
        && a.recipe == b.recipe
        && a.synchronize == b.synchronize
        && a.block_sizes == b.block_sizes
}

fn from_runs(
    args: &PredictArgs,
    newest: &MeasuredRun,
    runs: &[MeasuredRun],
    root: &Path,
) -> Result<Prediction> {
    let hello = &newest.hello;
    let config = config(args, hello.config)?;
    let observations: Vec<Observation> = runs.iter().filter_map(observation).collect();
    let observed: Vec<(usize, f64)> = runs
        .iter()
        .filter_map(|run| Some((run.hello.config.layers, run.summary.launches_per_step?)))
        .collect();
    let captured: Vec<(usize, f64)> = runs
        .iter()
        .filter_map(|run| Some((run.hello.config.layers, run.summary.captured_per_step?)))
        .collect();
    let features = Features::of(
        &config,
        &hello.recipe,
        launches(&observed, config.layers),
        launches(&captured, config.layers),
    );
    let model = TimeModel::fitted(&observations);
    let step_ms = model
        .as_ref()
        .map(|model| model.coefficients.step_ms(&features));
    let bounds = model.as_ref().zip(step_ms).map(|(model, ms)| {
        let (low, high) = model.measured_over_predicted();
        (low * ms, high * ms)
    });
    let ceiling_ms =
        Calibration::load(root, &hello.backend, &hello.device)?.and_then(|calibration| {
            features.ceiling_ms(&calibration, &hello.dtype, &hello.matmul_precision)
        });
    let configurations = merged(&observations).len();
    Ok(Prediction {
        target: hello.target.clone(),
        device: hello.device.clone(),
        backend: hello.backend.clone(),
        dtype: hello.dtype.clone(),
        matmul_precision: hello.matmul_precision.clone(),
        synchronize: hello.synchronize.clone(),
        config,
        features,
        step_ms,
        low_ms: bounds.map(|(low, _)| low),
        high_ms: bounds.map(|(_, high)| high),
        samples_per_s: step_ms.map(|ms| config.batch_size as f64 / (ms / 1e3)),
        peak_bytes: model.as_ref().and_then(|model| model.peak_bytes(&config)),
        ceiling_ms,
        configurations,
        runs: observations.iter().map(|o| o.runs).sum(),
        seen: observations.iter().any(|o| o.config == config),
        model,
    })
}

fn observation(run: &MeasuredRun) -> Option<Observation> {
    let hello = &run.hello;
    Some(Observation {
        config: hello.config,
        features: Features::of(
            &hello.config,
            &hello.recipe,
            run.summary.launches_per_step,
            run.summary.captured_per_step,
        ),
        step_ms: middle(&total_series(std::slice::from_ref(run)))?,
        peak_bytes: run
            .summary
            .peak_bytes_reserved
            .or(run.summary.peak_bytes_in_use)
            .map(|bytes| bytes as f64),
        runs: 1,
    })
}

/// The newest run's model with what the command line changes.
fn config(args: &PredictArgs, newest: ModelConfig) -> Result<ModelConfig> {
    let number = |flag: &str, given: &Option<String>, usual: usize| -> Result<usize, UsageError> {
        given.as_ref().map_or(Ok(usual), |text| {
            text.parse()
                .map_err(|_| UsageError(format!("--{flag} {text}: it is a whole number")))
        })
    };
    let mut base = newest;
    if let Some(preset) = &args.flags.config {
        let preset = <crate::model::Preset as clap::ValueEnum>::from_str(preset, true)
            .map_err(|error| UsageError(format!("--config {preset}: {error}")))?;
        base = preset.config();
    }
    let flags = &args.flags;
    let config = ModelConfig {
        vocabulary: number("vocab", &flags.vocab, base.vocabulary)?,
        hidden: number("hidden", &flags.hidden, base.hidden)?,
        layers: number("layers", &flags.layers, base.layers)?,
        heads: number("heads", &flags.heads, base.heads)?,
        kv_heads: number("kv-heads", &flags.kv_heads, base.kv_heads)?,
        ffn: number("ffn", &flags.ffn, base.ffn)?,
        sequence_length: args.seq_len.unwrap_or(base.sequence_length),
        batch_size: args.batch_size.unwrap_or(base.batch_size),
    };
    config.validate()?;
    Ok(config)
}

fn print(out: &mut impl Write, prediction: &Prediction) -> io::Result<()> {
    let config = &prediction.config;
    writeln!(
        out,
        "{} on {} ({}): {} hidden, {} layers, ffn {}, batch {} x {} tokens",
        prediction.target,
        prediction.device,
        prediction.backend,
        config.hidden,
        config.layers,
        config.ffn,
        config.batch_size,
        config.sequence_length
    )?;
    match (
        prediction.step_ms,
        prediction.low_ms.zip(prediction.high_ms),
    ) {
        (Some(ms), Some((low, high))) => writeln!(
            out,
            "predicted: {ms:.3} ms a step ({low:.3} to {high:.3} by the largest errors on held-out sizes), {:.1} samples/s",
            prediction.samples_per_s.unwrap_or_default()
        )?,
        _ => writeln!(
            out,
            "no prediction: {} configuration(s) were run, {LEAST_CONFIGURATIONS} are needed to know how far one may be off. Add --learn.",
            prediction.configurations
        )?,
    }
    if let Some(bytes) = prediction.peak_bytes {
        writeln!(out, "memory: about {}", human_bytes(bytes as u64))?;
    }
    if let Some(ms) = prediction.ceiling_ms {
        writeln!(
            out,
            "by the calibrated ceilings alone: {ms:.3} ms, for a program of these FLOP and bytes that wastes nothing"
        )?;
    }
    if prediction.seen {
        writeln!(
            out,
            "this very size was run before: its measurement is among those learned from"
        )?;
    }
    let Some(model) = &prediction.model else {
        return Ok(());
    };
    writeln!(
        out,
        "held-out error: {:.1} % in the median, {:.1} % at most (each size predicted by a model that had not seen it)",
        100.0 * model.median_error,
        100.0 * model.largest_error
    )?;
    if model.median_error > USEFUL_ERROR {
        writeln!(
            out,
            "  That is too much to plan with. Run sizes closer to this one, or more of them."
        )?;
    }
    writeln!(
        out,
        "learned from {} runs in {} sizes, products in {}, waiting {}:",
        prediction.runs,
        prediction.configurations,
        prediction.matmul_precision,
        match prediction.synchronize.as_str() {
            "step" => "once a step",
            "phases" => "after every phase",
            other => other,
        }
    )?;
    explain(out, &model.coefficients)?;
    print_table(out, &held_out(model))
}

fn explain(out: &mut impl Write, coefficients: &Coefficients) -> io::Result<()> {
    let how = match coefficients.shape.form {
        Form::Sum => "the sum of",
        Form::Larger => "the larger of kernels and the rest:",
    };
    let per_second = |ms: f64, unit: &str| {
        if ms > 0.0 {
            rate(1e3 / ms, unit)
        } else {
            format!("no time for {unit}")
        }
    };
    let scores = if coefficients.shape.scores_apart {
        format!(
            ", attention's scores at {}",
            per_second(coefficients.ms_per_score_flop, "FLOP")
        )
    } else {
        String::new()
    };
    writeln!(
        out,
        "  {how} {:.2} us a kernel (or a step, where kernels are not reported), {}{scores} and {}",
        1e3 * coefficients.ms_per_kernel,
        per_second(coefficients.ms_per_flop, "FLOP"),
        per_second(coefficients.ms_per_byte, "B")
    )
}

fn held_out(model: &TimeModel) -> TextTable {
    let mut table = TextTable::new(
        "Each size predicted by a model that had not seen it",
        &[
            ("sequence", Align::Right),
            ("batch", Align::Right),
            ("hidden", Align::Right),
            ("layers", Align::Right),
            ("measured ms", Align::Right),
            ("predicted ms", Align::Right),
            ("error", Align::Right),
        ],
    );
    for held in &model.held_out {
        table.rows.push(vec![
            held.config.sequence_length.to_string(),
            held.config.batch_size.to_string(),
            held.config.hidden.to_string(),
            held.config.layers.to_string(),
            format!("{:.3}", held.measured_ms),
            format!("{:.3}", held.predicted_ms),
            format!("{:+.1} %", 100.0 * held.error),
        ]);
    }
    table
}
