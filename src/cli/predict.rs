//! `predict`: predicts the step time of a model that never ran, from stored runs.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::analysis::{
    Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, TIMED, plural,
};
use tinyllama_analysis::calibration::Calibration;
use tinyllama_analysis::comparison::{peak_bytes, step_ms};
use tinyllama_analysis::prediction::{
    Coefficients, Features, Form, LEAST_CONFIGURATIONS, Observation, TimeModel, launches, merged,
};
use tinyllama_analysis::ranks::{Link, WireTime};
use tinyllama_analysis::{MeasuredRun, RunFailure, RunVariant};
use tinyllama_base::file::inside;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, bytes, milliseconds, percent, rate, rounded, signed_percent};
use tinyllama_contract::event::Hello;
use tinyllama_contract::flags::{RunSpec, UsageError};
use tinyllama_contract::{ElementType, bounds};
use tinyllama_engine::model::ModelConfig;
use tinyllama_engine::targets::v4;
use tinyllama_runs::folder;

/// A prediction with a larger median error on held-out sizes is not useful.
const USEFUL_ERROR: f64 = 0.25;

/// Number of stored runs to read, newest first.
const MOST_RUNS: usize = 400;

/// Sequence lengths and batch sizes of the runs to learn from, smallest first.
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

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor predict v3 --seq-len 512 --batch-size 16
      from the runs that were kept
  tinyllama-tutor predict v3 --learn --config small --seq-len 1024
      from eight small runs made first

Every number of the model that is not given is that of the newest run.")]
pub struct PredictArgs {
    /// Target to predict, optionally with flags after a colon
    target: RunSpec,
    /// First run the target in eight sizes (sequence 32 to 512, batch 2 to 8) to learn from
    #[arg(long)]
    learn: bool,
    /// v4: predict a run on this many GPUs that share the batch, from runs on one GPU and the time of the sums
    #[arg(long, value_name = "N", value_parser = bounds::GPUS)]
    gpus: Option<usize>,
    #[command(flatten)]
    flags: Flags,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct PredictDocument {
    target: String,
    device: String,
    backend: String,
    /// Properties of the runs that the prediction used: operand type, arithmetic of the products, and the work that a
    /// step waited for.
    dtype: String,
    matmul_precision: String,
    synchronize: String,
    /// The model's sizes on each GPU.
    config: ModelConfig,
    features: Features,
    /// Step time from the model fitted to runs; null if there were too few runs.
    step_ms: Option<f64>,
    /// Limits of the step time, from the largest errors on held-out configurations.
    low_ms: Option<f64>,
    high_ms: Option<f64>,
    samples_per_s: Option<f64>,
    peak_bytes: Option<f64>,
    /// The longest of launching, computing and moving at the calibrated rates; null without a calibration.
    ceiling_ms: Option<f64>,
    model: Option<TimeModel>,
    configurations: usize,
    runs: usize,
    /// True if a run had the same configuration.
    seen: bool,
    /// Time of the sums on several GPUs. The times above do not include it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<WireTime>,
}

impl Analysis for PredictArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let root = folder::state_folder()?;
        if self.learn {
            self.run_sizes()?;
        }
        let (runs, over_ranks) = self.kept_runs(&root)?;
        let Some(newest) = runs.first() else {
            bail!(UsageError(format!(
                "no kept run of {} to learn from: run it in a few sizes first, or add --learn",
                self.target.target
            )));
        };
        let hello = &newest.hello;
        let whole = self.flags.config(&self.target, hello.config)?;
        let config = self.share(whole)?;
        let calibration = Calibration::load(&root, &hello.backend, &hello.device)?;
        let mut prediction = predicted(config, &runs, newest, calibration.as_ref());
        prediction.sums = self.gpu_count().map(|gpus| {
            let same = |run: &&MeasuredRun| run.hello.device == hello.device;
            let measured = over_ranks.iter().filter(same).find_map(Link::measured);
            let link = measured.or_else(|| Link::of_data_sheet(&hello.device));
            let bytes = if hello.dtype == "f32" { 4.0 } else { 2.0 };
            WireTime::estimate(&config, bytes, gpus, link)
        });
        AnalysisResult::new(&prediction, page(&prediction))
    }
}

impl PredictArgs {
    /// The number of GPUs if there are several.
    fn gpu_count(&self) -> Option<usize> {
        self.gpus.filter(|gpus| *gpus > 1)
    }

    /// The part of `whole` that each GPU trains.
    fn share(&self, whole: ModelConfig) -> Result<ModelConfig> {
        let Some(gpus) = self.gpu_count() else {
            return Ok(whole);
        };
        let (target, batch) = (self.target.target, whole.batch_size);
        if target != v4::TARGET {
            bail!(UsageError(format!(
                "--gpus {gpus} is v4's: {target} trains on one GPU"
            )));
        }
        if !batch.is_multiple_of(gpus) {
            bail!(UsageError(format!(
                "--gpus {gpus}: a batch of {batch} cannot be shared equally; use a --batch-size that is a multiple of {gpus}"
            )));
        }
        Ok(ModelConfig {
            batch_size: batch / gpus,
            ..whole
        })
    }

    /// Runs the target in the sizes that it is learned from.
    fn run_sizes(&self) -> Result<()> {
        let common = self.flags.merged_with(&TIMED);
        let target = self.target.target;
        let sized = |(sequence, batch): &(usize, usize)| {
            let name = format!("{target}, sequence {sequence}, batch {batch}");
            let length = format!("--seq-len={sequence}");
            let flags = [length, format!("--batch-size={batch}")];
            RunVariant::new(name, &self.target, &common, &flags)
        };
        let variants = SIZES.iter().map(sized).collect::<Result<Vec<_>, _>>()?;
        let mut runner = AnalysisRunner::open(&self.flags)?;
        let mut without = Vec::new();
        runner.run_rounds_skipping(&variants, 1, |failed| {
            if failed.is_out_of_memory() {
                without.push(failed.variant.clone());
                return Ok(());
            }
            Err(RunFailure::FailedRun(failed))
        })?;
        for variant in without {
            runner.print_line(&format!("{variant}: out of memory, left out"));
        }
        Ok(())
    }

    /// Finished, synchronised runs of the target under the same conditions, newest first. It takes the newest group
    /// of runs with enough sizes, or else the newest group. Runs over several GPUs are returned separately.
    fn kept_runs(&self, root: &Path) -> Result<(Vec<MeasuredRun>, Vec<MeasuredRun>)> {
        // Folder names begin with the time.
        let folders = inside(&root.join("runs"))?;
        let mut groups: Vec<Vec<MeasuredRun>> = Vec::new();
        let mut over_ranks = Vec::new();
        for folder in folders.iter().rev().take(MOST_RUNS) {
            // Failed and unfinished runs have no usable times.
            let Ok(run) = MeasuredRun::read(folder) else {
                continue;
            };
            if !self.is_observation(&run) {
                continue;
            }
            if run.hello.ranks.is_some() {
                over_ranks.push(run);
                continue;
            }
            match groups
                .iter_mut()
                .find(|group| is_same_setup(&group[0], &run))
            {
                Some(group) => group.push(run),
                None => groups.push(vec![run]),
            }
        }
        let enough = groups.iter().position(|runs| {
            let observations: Vec<Observation> = runs.iter().filter_map(observation).collect();
            merged(&observations).len() >= LEAST_CONFIGURATIONS
        });
        let group = groups.into_iter().nth(enough.unwrap_or(0));
        Ok((group.unwrap_or_default(), over_ranks))
    }

    fn is_observation(&self, run: &MeasuredRun) -> bool {
        let agrees = |flag: &str, with: &str| {
            let value = self.flags.value(flag);
            value.is_none_or(|value| value == "auto" || value == with)
        };
        run.hello.target == self.target.target.name
            && run.summary.synchronized
            && agrees("--dtype", &run.hello.dtype)
            && agrees("--backend", &run.hello.backend)
    }
}

fn is_same_setup(a: &MeasuredRun, b: &MeasuredRun) -> bool {
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

/// Work of a step with `config` under the flags of a run.
fn features(
    hello: &Hello,
    config: &ModelConfig,
    launches: Option<f64>,
    captured: Option<f64>,
) -> Features {
    let operand = ElementType::of_name(&hello.dtype).unwrap_or(ElementType::F32);
    Features::from_model(config, &hello.recipe, operand, launches, captured)
}

fn observation(run: &MeasuredRun) -> Option<Observation> {
    let (hello, summary) = (&run.hello, &run.summary);
    let (launches, captured) = (summary.launches_per_step, summary.captured_per_step);
    Some(Observation {
        config: hello.config,
        features: features(hello, &hello.config, launches, captured),
        step_ms: step_ms(std::slice::from_ref(run))?,
        peak_bytes: peak_bytes(run).map(|bytes| bytes as f64),
        runs: 1,
    })
}

fn predicted(
    config: ModelConfig,
    runs: &[MeasuredRun],
    newest: &MeasuredRun,
    calibration: Option<&Calibration>,
) -> PredictDocument {
    let hello = &newest.hello;
    let observations: Vec<Observation> = runs.iter().filter_map(observation).collect();
    let kernels = |of: fn(&MeasuredRun) -> Option<f64>| {
        let seen = runs.iter();
        let seen = seen.filter_map(|run| Some((run.hello.config.layers, of(run)?)));
        launches(&seen.collect::<Vec<_>>(), config.layers)
    };
    let launched = kernels(|run| run.summary.launches_per_step);
    let captured = kernels(|run| run.summary.captured_per_step);
    let features = features(hello, &config, launched, captured);
    let model = TimeModel::fitted(&observations);
    let fit = model.as_ref();
    let step_ms = fit.map(|model| model.coefficients.step_ms(&features));
    let bounds = model.as_ref().map(TimeModel::measured_over_predicted);
    let bound = |of: fn((f64, f64)) -> f64| Some(of(bounds?) * step_ms?);
    PredictDocument {
        target: hello.target.clone(),
        device: hello.device.clone(),
        backend: hello.backend.clone(),
        dtype: hello.dtype.clone(),
        matmul_precision: hello.matmul_precision.to_string(),
        synchronize: hello.synchronize.clone(),
        config,
        features,
        step_ms,
        low_ms: bound(|(low, _)| low),
        high_ms: bound(|(_, high)| high),
        samples_per_s: step_ms.map(|ms| config.batch_size as f64 / (ms / 1e3)),
        peak_bytes: model.as_ref().and_then(|model| model.peak_bytes(&config)),
        ceiling_ms: calibration
            .and_then(|kept| features.ceiling_ms(kept, &hello.dtype, &hello.matmul_precision)),
        configurations: merged(&observations).len(),
        runs: observations.iter().map(|seen| seen.runs).sum(),
        seen: observations.iter().any(|seen| seen.config == config),
        sums: None,
        model,
    }
}

fn page(found: &PredictDocument) -> AnalysisPage {
    let mut page = AnalysisPage::default();
    let (target, device, backend) = (&found.target, &found.device, &found.backend);
    let ModelConfig {
        hidden,
        layers,
        ffn,
        batch_size,
        sequence_length,
        ..
    } = found.config;
    page.line(format_args!(
    "{target} on {device} ({backend}): {hidden} hidden, {layers} layers, ffn {ffn}, batch {batch_size} x {sequence_length} tokens"
    ));
    match (found.step_ms, found.low_ms.zip(found.high_ms)) {
        (Some(ms), Some((low, high))) => page.line(format_args!(
            "predicted: {} a step ({} to {} by the largest errors on held-out sizes), {:.1} samples/s",
            milliseconds(ms),
            rounded(low),
            rounded(high),
            found.samples_per_s.unwrap_or_default()
        )),
        _ => page.line(format_args!(
            "no prediction: {} run, {LEAST_CONFIGURATIONS} are needed to know the error of a prediction. Add --learn.",
            plural(found.configurations, "configuration")
        )),
    }
    if let Some(sums) = &found.sums {
        sum_lines(sums, found, &mut page);
    }
    if let Some(peak) = found.peak_bytes {
        page.line(format_args!("memory: about {}", bytes(peak)));
    }
    if let Some(ms) = found.ceiling_ms {
        page.line(format_args!(
            "by the calibrated ceilings alone: {}, for a program of these FLOP and bytes that wastes nothing",
            milliseconds(ms)
        ));
    }
    if found.seen {
        page.line("this size was run before: the model learned from its measurement too");
    }
    let Some(model) = &found.model else {
        return page;
    };
    page.line(format_args!(
        "held-out error: {} in the median, {} at most (each size predicted by a model that had not seen it)",
        percent(Share(model.median_error)),
        percent(Share(model.largest_error))
    ));
    if model.median_error > USEFUL_ERROR {
        page.line(
            "  That is too much to plan with. Run sizes closer to this one, or more of them.",
        );
    }
    page.line(format_args!(
        "learned from {} in {}, products in {}, waiting {}:",
        plural(found.runs, "run"),
        plural(found.configurations, "size"),
        found.matmul_precision,
        match found.synchronize.as_str() {
            "step" => "once a step",
            "phases" => "after every phase",
            other => other,
        }
    ));
    page.line(coefficients_text(&model.coefficients));
    page.table(held_out(model));
    page
}

/// Adds the time that sums over several GPUs take to a page.
fn sum_lines(sums: &WireTime, found: &PredictDocument, page: &mut AnalysisPage) {
    let n = sums.gpus;
    page.line(format_args!(
        "that is for each of {n} GPUs. They sum {} of gradients, for which each sends 2 (n - 1)/n times as much: {}",
        bytes(sums.gradient_bytes),
        bytes(sums.wire_bytes)
    ));
    let (Some(link), Some(wire)) = (&sums.link, sums.wire_ms) else {
        page.line(
            "  the speed between the GPUs is not known: run v4 with --gpus and --profile-steps 1",
        );
        return;
    };
    let (rate, source) = (rate(link.bytes_per_s, "B"), &link.source);
    page.line(format_args!(
        "  {} on the wire at {rate} ({source})",
        milliseconds(wire)
    ));
    if let Some(step) = found.step_ms {
        let samples = |ms: f64| (found.config.batch_size * n) as f64 / (ms / 1e3);
        let all = step + wire;
        let (low, high) = (samples(all), samples(step));
        page.line(format_args!(
            "  predicted for all: {} a step if the backward pass hides the sums, {} if it hides none: {low:.0} to {high:.0} samples/s",
            milliseconds(step),
            milliseconds(all)
        ));
    }
}

fn coefficients_text(coefficients: &Coefficients) -> String {
    let how = match coefficients.shape.form {
        Form::Sum => "the sum of",
        Form::Larger => "the larger of kernels and the rest:",
    };
    let per_second = |ms: f64, unit: &str| match ms > 0.0 {
        true => rate(1e3 / ms, unit),
        false => format!("no time for {unit}"),
    };
    let scores = per_second(coefficients.ms_per_score_flop, "FLOP");
    let scores = match coefficients.shape.scores_apart {
        true => format!(", attention's scores at {scores}"),
        false => String::new(),
    };
    format!(
        "  {how} {:.2} us a kernel (or a step, where kernels are not reported), {}{scores} and {}",
        1e3 * coefficients.ms_per_kernel,
        per_second(coefficients.ms_per_flop, "FLOP"),
        per_second(coefficients.ms_per_byte, "B")
    )
}

fn held_out(model: &TimeModel) -> TextTable {
    let title = "Each size predicted by a model that had not seen it";
    TableColumns::titled(title, &model.held_out)
        .right("sequence", |row| row.config.sequence_length.to_string())
        .right("batch", |row| row.config.batch_size.to_string())
        .right("hidden", |row| row.config.hidden.to_string())
        .right("layers", |row| row.config.layers.to_string())
        .right("measured ms", |row| format!("{:.3}", row.measured_ms))
        .right("predicted ms", |row| format!("{:.3}", row.predicted_ms))
        .right("error", |row| signed_percent(Share(row.error)))
        .into()
}
