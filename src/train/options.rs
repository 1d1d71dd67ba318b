//! What fixes a run, and how it may end.

use std::collections::BTreeMap;
use std::path::PathBuf;

use burn::tensor::FloatDType;

use super::data::Data;
use super::event::{self, Hello};
use super::stop::StopReason;
use super::trainer::Synchronize;
use super::ultra::UltraOptions;
use crate::device::{DeviceFacts, OpenDevice};
use crate::model::{ModelConfig, Recipe, Target};

/// Everything that fixes a run.
#[derive(Clone, Debug)]
pub struct Options {
    pub target: Target,
    pub recipe: Recipe,
    pub config: ModelConfig,
    /// Counted steps.
    pub steps: usize,
    /// Steps before them that are not counted.
    pub warmup: usize,
    pub learning_rate: f64,
    pub weight_decay: f32,
    pub seed: u64,
    pub operand_dtype: FloatDType,
    pub synchronize: Synchronize,
    /// Steps of the profile pass; 0 for none.
    pub profile_steps: usize,
    /// What only v4 is told.
    pub ultra: UltraOptions,
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
}

/// How a run ended, errors apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    Stopped(StopReason),
    /// The loss is no longer finite since this step.
    NotFinite(usize),
    /// Repeats differ though `--deterministic` was asked for.
    NotDeterministic,
}

/// The first line of a run.
pub fn hello(
    options: &Options,
    open: &DeviceFacts,
    data: &Data,
    parameter_tensors: usize,
    matmul_precision: String,
) -> Hello {
    Hello {
        stream: event::VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        target: options.target.to_string(),
        recipe: options.recipe,
        backend: open.backend.to_string(),
        device: open.name.clone(),
        arch: open.arch.clone(),
        driver: open.driver.clone(),
        device_memory: open.memory,
        config: options.config,
        seed: options.seed,
        parameters: options.config.parameters(),
        parameter_tensors,
        dtype: dtype_name(options.operand_dtype).into(),
        matmul_precision,
        learning_rate: options.learning_rate,
        weight_decay: f64::from(options.weight_decay),
        steps: options.steps,
        warmup: options.warmup,
        data: data.source(),
        deterministic: options.deterministic,
        synchronize: options.synchronize.name().into(),
        block_sizes: BTreeMap::new(),
    }
}

pub(super) fn dtype_name(dtype: FloatDType) -> &'static str {
    match dtype {
        FloatDType::BF16 => "bf16",
        FloatDType::F16 => "f16",
        _ => "f32",
    }
}

/// What carries out f32 products: the CPU does them in f32; on GPUs burn's tuned matmul may round operands to tf32.
pub fn matmul_precision(dtype: FloatDType, open: &OpenDevice) -> &'static str {
    match dtype {
        FloatDType::F32 if open.backend.is_asynchronous() => {
            "f32, operands rounded to tf32 where tuning finds it faster"
        }
        FloatDType::F32 => "f32",
        FloatDType::BF16 => "bf16 operands",
        _ => "f16 operands",
    }
}
