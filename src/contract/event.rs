//! The event stream of a run, version 1: one JSON object per line.
//!
//! Readers ignore events and fields they do not know. They keep a line that is not JSON as log. A figure that a
//! backend cannot report is `null`, never 0. These types generate the JSON Schema `assets/events.schema.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MatrixProducts;
use crate::model::{ModelConfig, Recipe};
use tinyllama_base::{DeviceFacts, quantile};

/// Version of the event stream. It changes if a reader of the old version would misread the new one.
pub const VERSION: u32 = 1;

/// Environment variables with the name of the run's machine. The launcher sets the first, and `srun` sets the second.
pub const NODES: [&str; 2] = ["TINYLLAMA_NODE", "SLURMD_NODENAME"];

/// One line of the stream.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Seconds since the run started.
    pub t: f64,
    #[serde(flatten)]
    pub body: Body,
}

/// The content of an event.
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

/// The document of `--json`, printed at the end.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct FinalDocument {
    pub hello: Option<Hello>,
    pub steps: Vec<Step>,
    pub kernels: Option<Kernels>,
    pub parts: Option<Parts>,
    pub activations: Option<Activations>,
    pub block: Option<Block>,
    pub sample: Option<Sample>,
    pub notes: Vec<Note>,
    pub summary: Option<Summary>,
    pub error: Option<Failure>,
}

impl FinalDocument {
    /// Takes an event; a later one of its kind replaces an earlier one.
    pub fn add(&mut self, body: &Body) {
        match body.clone() {
            Body::Hello(hello) => self.hello = Some(*hello),
            Body::Phase(_) => {}
            Body::Step(step) => self.steps.push(step),
            Body::Kernels(kernels) => self.kernels = Some(kernels),
            Body::Parts(parts) => self.parts = Some(parts),
            Body::Activations(activations) => self.activations = Some(activations),
            Body::Block(block) => self.block = Some(block),
            Body::Sample(sample) => self.sample = Some(sample),
            Body::Note(note) => self.notes.push(note),
            Body::Summary(summary) => self.summary = Some(*summary),
            Body::Error(failure) => self.error = Some(failure),
        }
    }
}

/// First line: the target, the device and the numbers of the run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Version of the event stream.
    pub stream: u32,
    /// Version of the program.
    pub version: String,
    pub target: String,
    pub recipe: Recipe,
    /// `cpu`, `vulkan`, `cuda` or `rocm`.
    pub backend: String,
    /// Name that the device reports.
    pub device: String,
    /// `gfx942`, `sm_90`, …; null if the backend does not report it.
    pub arch: Option<String>,
    /// Driver or runtime version; null if the backend does not report it.
    pub driver: Option<String>,
    /// Bytes of device memory; null if the backend does not report them.
    pub device_memory: Option<u64>,
    pub config: ModelConfig,
    pub seed: u64,
    pub parameters: u64,
    /// Number of tensors that hold the parameters.
    pub parameter_tensors: usize,
    pub dtype: String,
    /// Arithmetic of float32 matrix products: `f32`, `tf32`, ….
    pub matmul_precision: MatrixProducts,
    pub learning_rate: f64,
    pub weight_decay: f64,
    pub steps: usize,
    pub warmup: usize,
    pub data: DataSource,
    pub deterministic: bool,
    /// Work that a step waits for before it reads the clock.
    pub synchronize: String,
    /// Machine on which the run was launched; absent if it is the machine that asked for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Block sizes given to this run, by kernel. A kernel that is absent chose its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub block_sizes: BTreeMap<String, usize>,
    /// Plan for training with several processes, one GPU each; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankPlan>,
}

/// How several GPUs share a batch and its gradients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankPlan {
    pub ranks: usize,
    /// True if gradients are summed while the backward pass continues.
    pub overlap: bool,
    /// Minimum number of gradient bytes in one sum.
    pub bucket_bytes: u64,
    /// Bytes of all gradients of a step.
    pub gradient_bytes: u64,
}

impl Hello {
    /// Facts about the run's device.
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

/// Training data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DataSource {
    /// One fixed batch of uniformly random tokens. It can only be memorised, so a falling loss proves gradients.
    Synthetic,
    /// The bytes of a text file.
    Text {
        path: String,
        bytes: u64,
        /// Entropy of single bytes in nats: the loss that a model without context can reach.
        order_0_entropy: f64,
    },
}

/// Activity of the run before and between steps.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    pub phase: PhaseName,
    /// Progress from 0 to 1; null while there is no basis for an estimate.
    pub progress: Option<f64>,
    /// Estimated seconds left; null while there is no basis for an estimate.
    pub eta_s: Option<f64>,
    /// Description for people.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    /// Waiting in a scheduler's queue, or for a connection.
    Queue,
    /// Opening the device and copying the parameters to it.
    Setup,
    /// First step: kernels are compiled, and the device's rates are measured to tune them.
    Compile,
    /// First step: candidates for operations are compiled and timed, and the fastest is taken.
    Tune,
    /// Steps that are not counted.
    WarmUp,
    /// Steps that are counted.
    Measure,
    /// Extra steps that time every kernel and do not count.
    Profile,
}

/// One training step.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Number of the step from 1, warm-up included.
    pub n: usize,
    pub of: usize,
    /// True if the step counts in the summary.
    pub measured: bool,
    pub loss: f64,
    pub total_ms: f64,
    /// Null if the phases of a step were not timed separately.
    pub forward_ms: Option<f64>,
    pub backward_ms: Option<f64>,
    pub optimizer_ms: Option<f64>,
    /// True if the device had finished the timed work before the clock was read.
    pub synchronized: bool,
    /// Kernels that the host launched in this step; on a CPU this project's alone.
    pub launches: Option<u64>,
    /// Additional kernels that a captured graph ran. The host does not launch them one by one. Null without graphs.
    #[serde(default)]
    pub captured: Option<u64>,
    /// Bytes of live tensors: the larger of the readings after forward and after the step.
    pub bytes_in_use: Option<u64>,
    /// Bytes reserved on the device, including pages kept for reuse.
    pub bytes_reserved: Option<u64>,
    pub samples_per_s: f64,
    /// Figures of each rank; empty with a single rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankStep>,
}

/// One rank's part in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankStep {
    pub rank: usize,
    /// Loss on this rank's share of the batch.
    pub loss: f64,
    pub total_ms: f64,
    /// Milliseconds from the end of the rank's own gradients to the end of their sums. They contain the part of the
    /// sums that the backward pass did not hide, and the delay of the other ranks. Null if the device does not report
    /// them.
    pub waited_ms: Option<f64>,
}

/// Comparison of gradients summed over ranks with those of one GPU that has the whole batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankCheck {
    pub passed: bool,
    /// Number of compared parameters.
    pub tensors: usize,
    /// Largest relative difference ‖a-b‖/‖b‖ of a parameter's gradient.
    pub gradient_difference: f64,
    pub worst_parameter: Option<String>,
    pub tolerance: f64,
}

/// Device time per kernel, from a separate profile pass.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kernels {
    /// Steps in the pass. Every other figure is per step.
    pub steps: usize,
    pub launches_per_step: f64,
    /// Sum over kernels. Kernels that overlap count twice.
    pub device_ms_per_step: Option<f64>,
    /// Time from the first kernel's start to the last one's end, gaps included.
    pub span_ms_per_step: Option<f64>,
    pub kernels: Vec<Kernel>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Name in the vendor's profiler, shortened.
    pub name: String,
    /// Part of the model that launched it.
    pub part: String,
    pub launches_per_step: f64,
    /// Null if the device gave no time stamps.
    pub device_ms_per_step: Option<f64>,
    /// Operations in one launch, if burn's fusion made the kernel.
    pub fused_operations: Option<f64>,
    /// Floating-point operations, counted from shapes. Absent for targets that do not know them for each launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops_per_step: Option<f64>,
    /// Minimum of bytes that the kernel moves, counted the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_step: Option<f64>,
}

/// Counted work for each part of the model.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Parts {
    /// Source of the counts: shapes, not measurements.
    pub source: String,
    pub parts: Vec<PartWork>,
    pub flops_per_step: f64,
    pub bytes_per_step: f64,
    /// Rate over the median measured step.
    pub achieved_flops_per_s: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PartWork {
    pub part: String,
    /// Floating-point operations. The part `backward` has all those of the backward pass.
    pub flops: f64,
    /// Minimum of bytes that a perfect implementation of this recipe moves.
    pub bytes: f64,
    /// Measured device time; null if no profile pass attributes it.
    pub device_ms: Option<f64>,
}

/// Statistics of the values in the model before its first step, layer by layer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Activations {
    pub layers: Vec<Activation>,
    /// Limits for a healthy standard deviation.
    pub narrowest: f64,
    pub widest: f64,
    /// The first layer outside the limits.
    pub first_outside: Option<String>,
}

/// One layer's output. The figures are null if a value is not finite.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Activation {
    pub layer: String,
    pub mean: Option<f64>,
    pub std: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub within_bounds: bool,
}

/// Compares two forms of a transformer block's forward pass: one launch, and the launches of V4's schedule.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Milliseconds of the single launch.
    pub single_ms: f64,
    /// Milliseconds of the schedule's launches, replayed from a graph.
    pub schedule_ms: f64,
    pub schedule_launches: usize,
    /// ‖a-b‖/‖b‖ of the two results.
    pub difference: f64,
    /// Floating-point operations of the block, counted from its shapes.
    pub flops: f64,
    /// Additional operations that the single launch repeats.
    pub recomputed_flops: f64,
    /// Bytes of the block's weights.
    pub weight_bytes: f64,
    /// Bytes of weights that all thread blocks of the single launch read.
    pub weight_bytes_read: f64,
    pub thread_blocks: usize,
    pub compute_units: usize,
}

/// Text that the trained model generates after a prompt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    pub prompt: String,
    pub continuation: String,
}

/// A remark that a reader of the run's figures needs.
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
    /// Returns whether slow steps are mixed with fast ones, so that no single figure stands for a step.
    pub fn is_mixed(&self) -> bool {
        self.mean > 2.0 * self.median || self.p90 > 5.0 * self.p10
    }

    /// Computes mean, median and the 10th and 90th percentile (nearest rank, linear between ranks). Returns `None`
    /// for no values, or if one is not finite.
    pub fn from_values(values: &[f64]) -> Option<Spread> {
        Some(Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            median: quantile(values, 0.5)?,
            p10: quantile(values, 0.1)?,
            p90: quantile(values, 0.9)?,
        })
    }
}

/// Last line of every run that was not lost, including runs that were stopped early.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// False if the run was interrupted or failed before the last step.
    pub complete: bool,
    /// Completed steps, warm-up included.
    pub steps: usize,
    pub measured_steps: usize,
    /// Samples in measured steps.
    pub samples: u64,
    /// Rate over the total time of the measured steps; null if no step was measured.
    pub samples_per_s: Option<f64>,
    pub tokens_per_s: Option<f64>,
    pub total_ms: Option<Spread>,
    pub forward_ms: Option<Spread>,
    pub backward_ms: Option<Spread>,
    pub optimizer_ms: Option<Spread>,
    pub synchronized: bool,
    pub first_step_ms: Option<f64>,
    pub launches_per_step: Option<f64>,
    /// Kernels in a captured graph; null without one.
    #[serde(default)]
    pub captured_per_step: Option<f64>,
    /// Largest reading of live tensors, on a CPU of the process's heap. Readings are taken between phases, so peaks inside
    /// a phase are not seen.
    pub peak_bytes_in_use: Option<u64>,
    /// Maximum of bytes reserved on the device.
    pub peak_bytes_reserved: Option<u64>,
    /// Maximum memory of the process, including its program and libraries. Present only if the device reports no reserved
    /// bytes, as burn's CPU backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_peak_bytes: Option<u64>,
    pub first_loss: Option<f64>,
    pub final_loss: Option<f64>,
    pub parameters: u64,
    pub parameter_tensors: usize,
    /// Tensors that received a gradient in the last step.
    pub parameters_with_gradient: Option<usize>,
    pub repeatability: Option<Repeatability>,
    /// Result of comparing several GPUs with one; absent without such a comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_check: Option<RankCheck>,
    /// Spread over the measured steps of the longest wait that a rank had for sums; absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<Spread>,
    /// Fields that this version of the program does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// Comparison of repeats: the same step from the same state should give the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repeatability {
    /// Number of compared repeats.
    pub repeats: usize,
    pub identical: bool,
    /// Largest relative difference between the losses of two repeats.
    pub loss_difference: f64,
    /// Largest relative difference ‖a-b‖/‖b‖ of a parameter's gradient between two repeats.
    pub gradient_difference: f64,
    /// The parameter whose gradient differed most; null if none differed.
    pub differing_parameter: Option<String>,
}

/// Reason why a run ended early.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    pub code: FailureCode,
    pub message: String,
    /// Advice for the user.
    pub remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// A mistake in the command line, or in a file that it names.
    Usage,
    /// No usable device, library or permission.
    Environment,
    OutOfMemory,
    /// The device refused or lost work.
    Device,
    /// A scheduler or the connection to another machine failed.
    Launcher,
    /// The loss is no longer finite.
    NotFinite,
    Interrupted,
    /// A bug of this program.
    Internal,
}
