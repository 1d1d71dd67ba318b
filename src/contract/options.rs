//! Options of a run. The flags of `run` create them, and an engine carries them out.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tinyllama_base::named;
use tinyllama_kernel_catalog::adamw::Hyperparameters;

use crate::flags::{RankArgs, ReportArgs, TrainingArgs};
use crate::model::{ModelConfig, Recipe};
use crate::targets::Target;

/// Decay rates of the moments, and the value added to the root of the second one. They are PyTorch's defaults, which
/// the workshop uses.
const BETAS: [f64; 2] = [0.9, 0.999];
const EPSILON: f64 = 1e-8;

/// AdamW's weight decay in every run.
pub const WEIGHT_DECAY: f32 = 0.01;

named! {
    /// The storage type of the operands of matrix products.
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
    /// Work that a step waits for before it reads the clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
    pub enum Synchronize {
        /// Wait after forward, backward and update: three waits per step give the true time of each
        Phases = "phases",
        /// Wait after the whole step: true totals, no times for the parts
        Step = "step",
        /// Wait after the whole step: true totals; times of the parts come from the host's clock alone and do not add
        /// up to them
        HostParts = "host-parts",
        /// Never wait: the host's clock alone, which does not know when the device is done
        Never = "never",
    }
}

/// The precision of f32 products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MatmulPrecision {
    /// tf32 if the device's matrix library offers it, otherwise f32 (on most AMD GPUs); through burn, the choice of
    /// tuning
    Auto,
    /// Operands keep all their bits; through burn, its plainest product, which is slow
    F32,
    /// Operands are rounded to 11 bits for the matrix units; through burn, the same as auto
    Tf32,
}

/// The library for a run's matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Gemm {
    /// The target's library: the vendor's for v4 on CUDA or HIP; v4 on Vulkan and all other targets multiply through burn
    Auto,
    /// The vendor's library: cuBLASLt, hipBLASLt or rocBLAS; only v4 on CUDA or HIP
    Vendor,
    /// Through burn, whose library is called cubek, like the other targets, without a graph. There CUDA and Vulkan may take this
    /// project's own product
    Cubek,
}

/// An alternative form of a block, for comparison with the target's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BlockForm {
    /// The whole forward pass of a block in one launch
    Single,
}

/// All options of a run: its flags, what follows from them for its target, and what its process adds.
#[derive(Clone, Debug)]
pub struct TrainingOptions {
    pub target: Target,
    pub flags: TrainingArgs,
    pub report: ReportArgs,
    pub recipe: Recipe,
    pub config: ModelConfig,
    pub synchronize: Synchronize,
    /// Kernels that replace the target's own kernels; v4 only.
    pub kernels: Vec<KernelInPlace>,
    /// Options of this process if several processes train one model.
    pub ranks: Option<RankOptions>,
}

impl TrainingOptions {
    /// AdamW's hyperparameters.
    pub fn hyperparameters(&self) -> Hyperparameters {
        adamw(self.flags.learning_rate, f64::from(WEIGHT_DECAY))
    }

    /// The storage type of the operands of matrix products.
    pub fn operand_dtype(&self) -> ElementType {
        self.flags.dtype.into()
    }

    /// True to compare two repeats of a step at the end.
    pub fn checks_repeatability(&self) -> bool {
        self.flags.on.deterministic || self.flags.on.repeatability.is_on()
    }

    /// Bytes of all gradients. Gradients have the type of the products' operands.
    pub fn gradient_bytes(&self) -> u64 {
        self.config.parameters() * self.operand_dtype().bytes() as u64
    }
}

/// AdamW with the moment decay rates that every target uses.
pub fn adamw(learning_rate: f64, weight_decay: f64) -> Hyperparameters {
    Hyperparameters {
        learning_rate,
        beta1: BETAS[0],
        beta2: BETAS[1],
        epsilon: EPSILON,
        weight_decay,
    }
}

/// Options for one of several processes. Each has a GPU and its share of every batch.
#[derive(Clone, Debug)]
pub struct RankOptions {
    /// Rank of this process, counted from 0.
    pub rank: usize,
    pub ranks: usize,
    pub flags: RankArgs,
    /// A folder that all ranks can access.
    pub meeting: PathBuf,
}

impl RankOptions {
    /// The model's sizes with this rank's part of the batch.
    pub fn share_of(&self, config: &ModelConfig) -> ModelConfig {
        ModelConfig {
            batch_size: config.batch_size / self.ranks,
            ..*config
        }
    }
}

/// Grid, block, and bytes of local memory.
pub type LaunchShape = ([u32; 3], [u32; 3], u32);

/// Computes a launch from named sizes.
type LaunchShapeOf = Arc<dyn Fn(&[(&str, usize)]) -> anyhow::Result<LaunchShape> + Send + Sync>;

/// Arrays by name. Each element is stored as its bits.
pub type Arrays = BTreeMap<&'static str, Vec<u32>>;

/// Executes a kernel on named arrays, with named sizes and optionally one changed number. Returns the arrays that the
/// kernel writes.
type HostKernel = Arc<
    dyn Fn(&[(&str, usize)], Option<(&str, f32)>, Arrays) -> anyhow::Result<Arrays> + Send + Sync,
>;

/// A custom kernel that replaces one of the target's kernels.
#[derive(Clone)]
pub struct KernelInPlace {
    /// The exercise that it is written for.
    pub operation: String,
    /// Name of the target's kernel.
    pub replaces: String,
    pub entry: String,
    pub file: PathBuf,
    /// HIP C++ source that nvrtc also accepts.
    pub source: String,
    pub shape: LaunchShapeOf,
    /// Executes the kernel without a GPU.
    pub on_host: HostKernel,
}

impl fmt::Debug for KernelInPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KernelInPlace")
            .field(&self.operation)
            .finish()
    }
}
