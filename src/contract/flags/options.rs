//! Options of a run. The flags of `run` create them, and an engine carries them out.

use std::path::PathBuf;

use tinyllama_kernel_catalog::adamw::Hyperparameters;

use super::{RankArgs, ReportArgs, TrainingArgs};
use crate::model::{ModelConfig, Recipe};
use crate::targets::Target;
use crate::{ElementType, KernelInPlace, Synchronize};

/// Decay rates of the moments, and the value added to the root of the second one. They are PyTorch's defaults, which
/// the workshop uses.
const BETAS: [f64; 2] = [0.9, 0.999];
const EPSILON: f64 = 1e-8;

/// AdamW's weight decay in every run.
pub const WEIGHT_DECAY: f32 = 0.01;

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
