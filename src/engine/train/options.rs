//! Values that an engine derives from a run's options, and the ways in which a run ends.

use std::collections::BTreeMap;

use burn::tensor::FloatDType;
use tinyllama_base::{DeviceFacts, locale};
use tinyllama_contract::event::{self, Hello, RankPlan};
use tinyllama_contract::{
    Backend, ElementType, MatrixProducts, RankOptions, TrainingOptions, Tuning, WEIGHT_DECAY,
};

use crate::device;
use crate::model::{LibraryKernels, library_kernels};
use crate::train::{Batch, Data, StopReason};

/// Returns burn's name of the type.
pub fn float_dtype(element: ElementType) -> FloatDType {
    match element {
        ElementType::F32 => FloatDType::F32,
        ElementType::Bf16 => FloatDType::BF16,
        ElementType::F16 => FloatDType::F16,
    }
}

/// Returns how burn chooses its kernels on `backend`.
pub fn library_on(options: &TrainingOptions, backend: Backend) -> LibraryKernels {
    library_kernels(tuning_on(options, backend))
}

/// Returns the tuning before a device is open. `auto` may still select an AMD GPU if the build supports them.
pub fn tuning_ahead(options: &TrainingOptions) -> Tuning {
    let auto = match device::is_compiled_in(Backend::Rocm) {
        true => Backend::Rocm,
        false => Backend::Vulkan,
    };
    tuning_on(options, options.flags.on.backend.backend().unwrap_or(auto))
}

/// AMD GPUs tune by trying, unless the options say otherwise: only a trial shows which kernels compile there. On a CPU
/// `full` means burn's product as it is, and everything else this project's threads around it.
fn tuning_on(options: &TrainingOptions, backend: Backend) -> Tuning {
    options.flags.switches.tuning.unwrap_or(match backend {
        Backend::Cuda | Backend::Vulkan | Backend::Cpu => Tuning::Rules,
        Backend::Rocm => Tuning::Full,
    })
}

/// Returns the part of the whole `batch` on which this rank trains.
pub fn rank_batch(ranks: &RankOptions, batch: &Batch) -> Batch {
    let part = |all: &[i32]| {
        let length = all.len() / ranks.ranks;
        all[ranks.rank * length..(ranks.rank + 1) * length].to_vec()
    };
    Batch {
        tokens: part(&batch.tokens),
        targets: part(&batch.targets),
    }
}

/// How a training ended, except for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainingEnd {
    Complete,
    Stopped(StopReason),
    /// The loss has not been finite since this step.
    NotFinite(usize),
    /// Repetitions differ although `--deterministic` was set.
    NotDeterministic,
    /// The gradients summed over ranks differ from those of one device.
    RanksDiffer,
}

/// Returns the first event of a run.
pub fn hello(
    options: &TrainingOptions,
    device: &DeviceFacts,
    data: &Data,
    matmul_precision: MatrixProducts,
) -> Hello {
    let flags = &options.flags;
    Hello {
        stream: event::VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        target: options.target.name.into(),
        recipe: options.recipe,
        backend: device.backend.clone(),
        device: device.device.clone(),
        arch: device.arch.clone(),
        driver: device.driver.clone(),
        device_memory: device.memory,
        config: options.config,
        seed: flags.seed,
        parameters: options.config.parameters(),
        parameter_tensors: options.recipe.tensors(&options.config),
        dtype: options.operand_dtype().name().into(),
        matmul_precision,
        learning_rate: flags.learning_rate,
        weight_decay: f64::from(WEIGHT_DECAY),
        steps: flags.num_steps,
        warmup: flags.warmup,
        data: data.source(),
        deterministic: flags.on.deterministic,
        synchronize: options.synchronize.name().into(),
        node: event::NODES.into_iter().find_map(locale::variable),
        block_sizes: BTreeMap::new(),
        ranks: options.ranks.as_ref().map(|ranks| RankPlan {
            ranks: ranks.ranks,
            overlap: ranks.flags.overlap.is_on(),
            bucket_bytes: ranks.flags.bucket_bytes() as u64,
            gradient_bytes: options.gradient_bytes(),
        }),
    }
}
