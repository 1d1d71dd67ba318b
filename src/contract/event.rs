//! The event stream of a run, version 1: one JSON object a line.
//!
//! Readers ignore events and fields they do not know, and keep a line that is no JSON as log. A figure a backend cannot
//! report is `null`, never 0. The JSON Schema generated from these types is `assets/events.schema.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MatrixProducts;
use crate::model::{ModelConfig, Recipe};
use tinyllama_base::{DeviceFacts, quantile};

/// Version of the event stream; it changes when a reader of the old one would misread the new one.
pub const VERSION: u32 = 1;

/// Variables that tell a run what its machine is called: the launcher's, and Slurm's own for what is put behind `srun`.
pub const NODES: [&str; 2] = ["TINYLLAMA_NODE", "SLURMD_NODENAME"];

/// One line of the stream.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Seconds since the run started.
    pub t: f64,
    #[serde(flatten)]
    pub body: Body,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Body {
    Hello(Box<Hello>),
    Phase(Phase),
    Step(Step),
    Kernels(Kernels),
    Parts(Parts),
    Activations(Activations),
    Block(Block),
    Sample(Sample),
    Note(Note),
    Summary(Box<Summary>),
    Error(Failure),
}

/// First line: what runs, where, with which numbers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Version of this stream.
    pub stream: u32,
    /// Version of the program.
    pub version: String,
    pub target: String,
    pub recipe: Recipe,
    /// `cpu`, `vulkan`, `cuda` or `rocm`.
    pub backend: String,
    /// Name the device gives itself.
    pub device: String,
    /// `gfx942`, `sm_90`, …; null where the backend does not say.
    pub arch: Option<String>,
    /// Driver or runtime version; null where the backend does not say.
    pub driver: Option<String>,
    /// Bytes of device memory; null where the backend does not say.
    pub device_memory: Option<u64>,
    pub config: ModelConfig,
    pub seed: u64,
    pub parameters: u64,
    /// Tensors among them.
    pub parameter_tensors: usize,
    pub dtype: String,
    /// How float32 matrix products are carried out: `f32`, `tf32`, ….
    pub matmul_precision: MatrixProducts,
    pub learning_rate: f64,
    pub weight_decay: f64,
    pub steps: usize,
    pub warmup: usize,
    pub data: DataSource,
    pub deterministic: bool,
    /// What a step waits for before reading the clock.
    pub synchronize: String,
    /// Machine it was launched on; absent where the one that asked for it made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Block sizes this run was given, by kernel; a kernel that is absent picked its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub block_sizes: BTreeMap<String, usize>,
    /// Where several processes train, each on a GPU of its own; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankPlan>,
}

/// How a batch and its gradients are shared by several GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankPlan {
    pub ranks: usize,
    /// Whether gradients are summed while the backward pass goes on.
    pub overlap: bool,
    /// Bytes of gradients that are summed at once, at least.
    pub bucket_bytes: u64,
    /// Of all gradients of a step.
    pub gradient_bytes: u64,
}

impl Hello {
    /// The device it runs on.
    pub fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            backend: self.backend.clone(),
            device: self.device.clone(),
            arch: self.arch.clone(),
            driver: self.driver.clone(),
            memory: self.device_memory,
        }
    }
}

/// What the model is trained on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DataSource {
    /// One fixed batch of uniformly random tokens. It can only be memorised, so a falling loss proves gradients.
    Synthetic,
    /// The bytes of a text file.
    Text {
        path: String,
        bytes: u64,
        /// Entropy of single bytes in nats: what a model that ignores context can reach.
        order_0_entropy: f64,
    },
}

/// What the run is busy with before and between steps.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    pub phase: PhaseName,
    /// From 0 to 1; null while there is nothing to estimate from.
    pub progress: Option<f64>,
    /// Estimated seconds left; null while there is nothing to estimate from.
    pub eta_s: Option<f64>,
    /// In words.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    /// Waiting for a place to run: a scheduler's queue, or a connection.
    Queue,
    /// Opening the device and placing the parameters.
    Setup,
    /// First step: kernels are compiled, and the device's rates are measured to tune them by.
    Compile,
    /// First step: candidates of operations are compiled and timed, and the fastest is taken.
    Tune,
    /// Steps that are not counted.
    WarmUp,
    /// Steps that are counted.
    Measure,
    /// Steps that time every kernel, counted apart.
    Profile,
}

/// One training step.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Counted from 1, warm-up included.
    pub n: usize,
    pub of: usize,
    /// Whether the step counts in the summary.
    pub measured: bool,
    pub loss: f64,
    pub total_ms: f64,
    /// Null where the phases of a step were not timed apart.
    pub forward_ms: Option<f64>,
    pub backward_ms: Option<f64>,
    pub optimizer_ms: Option<f64>,
    /// Whether the clock was read only after the device had finished the work it is charged with.
    pub synchronized: bool,
    /// Kernels issued by the host in this step.
    pub launches: Option<u64>,
    /// Kernels a captured graph ran beside them, which cost the host nothing one by one; null without graphs.
    #[serde(default)]
    pub captured: Option<u64>,
    /// Bytes of live tensors: the larger of the readings after forward and after the step.
    pub bytes_in_use: Option<u64>,
    /// Bytes taken from the device, pages kept for reuse included.
    pub bytes_reserved: Option<u64>,
    pub samples_per_s: f64,
    /// Of each rank, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankStep>,
}

/// One rank's part in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankStep {
    pub rank: usize,
    /// Of its share of the batch.
    pub loss: f64,
    pub total_ms: f64,
    /// From the end of its own gradients to the end of their sums: what the backward pass did not hide, and how late the others
    /// were. Null where the device does not tell.
    pub waited_ms: Option<f64>,
}

/// Gradients summed over ranks beside those of one GPU with the whole batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankCheck {
    pub passed: bool,
    /// Parameters compared.
    pub tensors: usize,
    /// Largest relative difference ‖a-b‖/‖b‖ of a parameter's gradient.
    pub gradient_difference: f64,
    pub worst_parameter: Option<String>,
    pub tolerance: f64,
}

/// Device time per kernel, from a profile pass of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kernels {
    /// Steps the pass covered; every figure is per step.
    pub steps: usize,
    pub launches_per_step: f64,
    /// Sum over kernels; kernels that overlap count twice.
    pub device_ms_per_step: Option<f64>,
    /// From the first kernel's start to the last one's end, gaps included.
    pub span_ms_per_step: Option<f64>,
    pub kernels: Vec<Kernel>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Name as the profiler of the vendor would show it, shortened.
    pub name: String,
    /// Part of the model that issued it.
    pub part: String,
    pub launches_per_step: f64,
    /// Null where the device gave no time stamps.
    pub device_ms_per_step: Option<f64>,
    /// Operations fused into one launch of it, where burn's fusion made it.
    pub fused_operations: Option<f64>,
    /// Floating-point operations, counted from shapes by targets that know them of each launch; absent in the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops_per_step: Option<f64>,
    /// Least bytes it moves, counted likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_step: Option<f64>,
}

/// Counted work per part of the model.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Parts {
    /// Counted from shapes, not measured.
    pub source: String,
    pub parts: Vec<PartWork>,
    pub flops_per_step: f64,
    pub bytes_per_step: f64,
    /// Over the median measured step.
    pub achieved_flops_per_s: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PartWork {
    pub part: String,
    /// Floating-point operations; those of the backward pass are all under the part `backward`.
    pub flops: f64,
    /// Least bytes a perfect implementation of this recipe moves.
    pub bytes: f64,
    /// Measured device time, where a profile pass attributes it; null otherwise.
    pub device_ms: Option<f64>,
}

/// The numbers that flow through the model before its first step, layer by layer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Activations {
    pub layers: Vec<Activation>,
    /// Bounds of a healthy standard deviation.
    pub narrowest: f64,
    pub widest: f64,
    /// The first layer outside them.
    pub first_outside: Option<String>,
}

impl Activations {
    /// As a table for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            "Numbers in every layer before the first step".to_string(),
            format!(
                "  {:<20} {:>10} {:>10} {:>10} {:>10}",
                "layer", "mean", "std", "min", "max"
            ),
        ];
        let number = |value: Option<f64>| value.map_or("not finite".into(), |v| format!("{v:.4}"));
        for layer in &self.layers {
            lines.push(format!(
                "  {:<20} {:>10} {:>10} {:>10} {:>10}{}",
                layer.layer,
                number(layer.mean),
                number(layer.std),
                number(layer.min),
                number(layer.max),
                if layer.within_bounds { "" } else { "  !" }
            ));
        }
        let bounds = format!("{} to {}", self.narrowest, self.widest);
        lines.push(match &self.first_outside {
            Some(layer) => format!("  first outside a standard deviation of {bounds}: {layer}"),
            None => format!("  every standard deviation lies within {bounds}"),
        });
        lines
    }
}

/// One layer's output. The figures are null where a number is not finite.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Activation {
    pub layer: String,
    pub mean: Option<f64>,
    pub std: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub within_bounds: bool,
}

/// The forward pass of a transformer block in one launch, beside the launches that V4's schedule has for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Milliseconds of the one launch.
    pub single_ms: f64,
    /// Milliseconds of the schedule's launches, replayed from a graph.
    pub schedule_ms: f64,
    pub schedule_launches: usize,
    /// ‖a-b‖/‖b‖ of the two results.
    pub difference: f64,
    /// Floating-point operations of the block, counted from its shapes.
    pub flops: f64,
    /// What the one launch computes again on top of those.
    pub recomputed_flops: f64,
    /// The block's weights.
    pub weight_bytes: f64,
    /// What all thread blocks of the one launch read of them.
    pub weight_bytes_read: f64,
    pub thread_blocks: usize,
    pub compute_units: usize,
    /// In words.
    pub verdict: String,
}

impl Block {
    /// As a table for people.
    pub fn lines(&self) -> Vec<String> {
        let row = |name: &str, single: String, schedule: String| {
            format!("  {name:<28} {single:>14} {schedule:>14}")
        };
        let mega = |value: f64| format!("{:.1} M", value / 1e6);
        vec![
            "The forward pass of one block".into(),
            row("", "in one launch".into(), "as scheduled".into()),
            row("launches", "1".into(), self.schedule_launches.to_string()),
            row(
                "time",
                format!("{:.1} us", self.single_ms * 1e3),
                format!("{:.1} us", self.schedule_ms * 1e3),
            ),
            row(
                "operations",
                mega(self.flops + self.recomputed_flops),
                mega(self.flops),
            ),
            row(
                "  of these done again",
                mega(self.recomputed_flops),
                mega(0.0),
            ),
            row(
                "bytes of weights read",
                mega(self.weight_bytes_read),
                mega(self.weight_bytes),
            ),
            format!("  the results differ by {:.1e}", self.difference),
            format!("  {}", self.verdict),
        ]
    }
}

/// Text the trained model continues.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    pub prompt: String,
    pub continuation: String,
}

/// Something a reader should know about the run's figures.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    pub message: String,
}

/// Median and spread of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    pub mean: f64,
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
}

impl Spread {
    /// Mean, median and the 10th and 90th percentile (nearest rank, linear between ranks); `None` for no values or
    /// one that is not finite.
    pub fn of(values: &[f64]) -> Option<Spread> {
        Some(Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            median: quantile(values, 0.5)?,
            p10: quantile(values, 0.1)?,
            p90: quantile(values, 0.9)?,
        })
    }
}

/// Last line of a run that was not lost: what it did, also when it was stopped early.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// False when the run was interrupted or failed before the last step.
    pub complete: bool,
    /// Steps done, warm-up included.
    pub steps: usize,
    pub measured_steps: usize,
    /// Samples in measured steps.
    pub samples: u64,
    /// Over the measured steps' total time; null when none was measured.
    pub samples_per_s: Option<f64>,
    pub tokens_per_s: Option<f64>,
    pub total_ms: Option<Spread>,
    pub forward_ms: Option<Spread>,
    pub backward_ms: Option<Spread>,
    pub optimizer_ms: Option<Spread>,
    pub synchronized: bool,
    pub first_step_ms: Option<f64>,
    pub launches_per_step: Option<f64>,
    /// Kernels of a captured graph; null without one.
    #[serde(default)]
    pub captured_per_step: Option<f64>,
    /// Largest reading of live tensors, between phases; peaks inside a phase are not seen.
    pub peak_bytes_in_use: Option<u64>,
    /// Most that was taken from the device.
    pub peak_bytes_reserved: Option<u64>,
    /// Where the device reports neither: most that the process held in memory at once, its program and libraries included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_peak_bytes: Option<u64>,
    pub first_loss: Option<f64>,
    pub final_loss: Option<f64>,
    pub parameters: u64,
    pub parameter_tensors: usize,
    /// Tensors that received a gradient in the last step.
    pub parameters_with_gradient: Option<usize>,
    pub repeatability: Option<Repeatability>,
    /// Where several GPUs trained and were compared with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_check: Option<RankCheck>,
    /// Of each measured step the longest that a rank waited for sums; absent where nobody measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<Spread>,
    /// Fields this version of the program does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// Whether the same step from the same state gives the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repeatability {
    /// Repeats compared.
    pub repeats: usize,
    pub identical: bool,
    /// Largest relative difference between the losses of two repeats.
    pub loss_difference: f64,
    /// Largest relative difference ‖a-b‖/‖b‖ of a parameter's gradient between two repeats.
    pub gradient_difference: f64,
    /// The parameter whose gradient differed most; null when none did.
    pub differing_parameter: Option<String>,
}

/// Why a run ended early.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    pub code: FailureCode,
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// The command line or a file it names.
    Usage,
    /// No usable device, library or permission.
    Environment,
    OutOfMemory,
    /// The device refused or lost work.
    Device,
    /// A scheduler, or the way to another machine.
    Launcher,
    /// The loss is no longer finite.
    NotFinite,
    Interrupted,
    /// A bug of this program.
    Internal,
}
