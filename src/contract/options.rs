//! Everything that fixes a run, as the flags of `run` put it together and an engine carries it out.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tinyllama_base::named;
use tinyllama_kernel_catalog::adamw::Hyperparameters;

use crate::model::{ModelConfig, Recipe};
use crate::{BackendChoice, Tuning};

/// Decay of the moments and what is added to the root of the second: PyTorch's defaults, which the workshop uses.
const BETAS: [f64; 2] = [0.9, 0.999];
const EPSILON: f64 = 1e-8;

named! {
    /// What the operands of matrix products are stored in.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ElementType {
        F32 = "f32",
        Bf16 = "bf16",
        F16 = "f16",
    }
}

impl ElementType {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            ElementType::F32 => 4,
            ElementType::Bf16 | ElementType::F16 => 2,
        }
    }
}

named! {
    /// What a step waits for before it reads the clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
    pub enum Synchronize {
        /// After forward, backward and update: true times of each, three waits a step
        Phases = "phases",
        /// After the whole step: true totals, parts not reported
        Step = "step",
        /// After the whole step: true totals, and parts by the host's clock alone, which do not add up to them
        HostParts = "host-parts",
        /// Never: the host's clock alone, which does not know when the device is done
        Never = "never",
    }
}

/// How f32 products are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MatmulPrecision {
    /// tf32 where the device's matrix library offers it, f32 elsewhere: most AMD GPUs; through burn what tuning prefers
    Auto,
    /// Operands keep all their bits; through burn by its plainest product, which is slow
    F32,
    /// Operands are rounded to 11 bits for the matrix units; through burn as auto
    Tf32,
}

/// Whose matrix products a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Gemm {
    /// What the target has: the vendor's for v4 on CUDA or HIP, burn's own for v4 on Vulkan and all others
    Auto,
    /// The vendor's library: cuBLASLt, hipBLASLt or rocBLAS; v4 on CUDA or HIP
    Vendor,
    /// burn's own, called cubek; v4 then goes through burn as the others do, and without a graph
    Cubek,
}

/// How a block is computed beside the way the target has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BlockForm {
    /// The whole forward pass of a block in one launch
    Single,
}

/// Everything that fixes a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name.
    pub target: &'static str,
    pub recipe: Recipe,
    pub config: ModelConfig,
    /// Where it computes: a backend, and which of its devices.
    pub backend: BackendChoice,
    pub device: Option<String>,
    /// Counted steps.
    pub steps: usize,
    /// Steps before them that are not counted.
    pub warmup: usize,
    pub learning_rate: f64,
    pub weight_decay: f32,
    pub seed: u64,
    pub operand_dtype: ElementType,
    /// Whether it becomes f16 on a device that does not compute in it.
    pub or_f16: bool,
    pub matmul_precision: MatmulPrecision,
    pub gemm: Gemm,
    /// How burn's kernels are chosen, its products among them; `None` as fits the backend.
    pub tuning: Option<Tuning>,
    pub synchronize: Synchronize,
    /// Whether the step is captured as a graph and replayed, where the target can.
    pub capture: bool,
    /// Compare this form of a block with the target's at the end.
    pub block: Option<BlockForm>,
    /// Steps of the profile pass; 0 for none.
    pub profile_steps: usize,
    /// Whether every layer is looked at before the first step.
    pub diagnose: bool,
    pub deterministic: bool,
    /// Whether two repeats of a step are compared at the end.
    pub check_repeatability: bool,
    /// Bytes of text to continue at the end; 0 for none.
    pub sample: usize,
    /// Where the profile pass is written as a Chrome trace.
    pub trace: Option<PathBuf>,
    /// Whether work per part is reported.
    pub count_work: bool,
    /// Kernels that take the place of the target's own; v4 only.
    pub kernels: Vec<KernelInPlace>,
    /// Where this process is one of several that train one model.
    pub ranks: Option<RankOptions>,
}

impl Options {
    /// What AdamW is told.
    pub fn hyperparameters(&self) -> Hyperparameters {
        adamw(self.learning_rate, f64::from(self.weight_decay))
    }

    /// Bytes of all gradients: they have the type of the products' operands.
    pub fn gradient_bytes(&self) -> u64 {
        self.config.parameters() * self.operand_dtype.bytes() as u64
    }
}

/// AdamW with the moments of every target.
pub fn adamw(learning_rate: f64, weight_decay: f64) -> Hyperparameters {
    Hyperparameters {
        learning_rate,
        beta1: BETAS[0],
        beta2: BETAS[1],
        epsilon: EPSILON,
        weight_decay,
    }
}

/// One of several processes, each with a GPU and its share of every batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankOptions {
    /// From 0.
    pub rank: usize,
    pub ranks: usize,
    /// Whether gradients are summed while the backward pass goes on.
    pub overlap: bool,
    /// Bytes of gradients that are summed at once, at least.
    pub bucket_bytes: usize,
    /// A folder that all of them see.
    pub meeting: PathBuf,
    /// Whether gradients are compared with one GPU's at the end.
    pub check: bool,
}

impl RankOptions {
    /// The model with this rank's part of the batch.
    pub fn share_of(&self, config: &ModelConfig) -> ModelConfig {
        ModelConfig {
            batch_size: config.batch_size / self.ranks,
            ..*config
        }
    }
}

/// Grid, block, and bytes of local memory.
pub type LaunchShape = ([u32; 3], [u32; 3], u32);

/// A launch for sizes by name.
type ShapeOf = Arc<dyn Fn(&[(&str, usize)]) -> anyhow::Result<LaunchShape> + Send + Sync>;

/// Arrays by name, as the bits of their elements.
pub type Arrays = BTreeMap<&'static str, Vec<u32>>;

/// What a kernel makes of arrays, for sizes by name and a number that is not the usual one: those it writes.
type OnHost = Arc<
    dyn Fn(&[(&str, usize)], Option<(&str, f32)>, Arrays) -> anyhow::Result<Arrays> + Send + Sync,
>;

/// Somebody's kernel in place of one of the target's.
#[derive(Clone)]
pub struct KernelInPlace {
    /// What it carries out: `rmsnorm`, `swiglu`, `cross-entropy` or `adamw`.
    pub operation: String,
    pub entry: String,
    pub file: PathBuf,
    /// HIP C++ that nvrtc takes too.
    pub source: String,
    pub shape: ShapeOf,
    /// Without a GPU.
    pub on_host: OnHost,
}

impl fmt::Debug for KernelInPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KernelInPlace")
            .field(&self.operation)
            .finish()
    }
}
