//! Flags that the engines accept or refuse.

use super::Target;
use crate::{BackendChoice, ElementType, Gemm, MatmulPrecision, TrainingOptions};

/// The engine that carries out a target's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// burn's tensors: autodiff records the forward pass and runs the backward pass.
    Autodiff,
    /// A schedule of launches that is planned once.
    Scheduled,
}

impl EngineKind {
    /// Refuses flags that `target` does not support with this engine.
    ///
    /// # Errors
    /// Names the flag and the remedy, for people.
    pub fn check(self, target: Target, options: &TrainingOptions) -> Result<(), String> {
        match self {
            EngineKind::Autodiff => check_autodiff(target, options),
            EngineKind::Scheduled => check_scheduled(options),
        }
    }

    /// True if the engine has code for the operand type on the device that `options` choose.
    pub fn computes(self, options: &TrainingOptions) -> bool {
        let on_gpu = !matches!(options.backend, BackendChoice::Auto | BackendChoice::Cpu);
        match (self, options.operand_dtype) {
            (EngineKind::Autodiff, _) | (_, ElementType::F32) => true,
            (EngineKind::Scheduled, ElementType::Bf16) => on_gpu || options.gemm == Gemm::Cubek,
            (EngineKind::Scheduled, ElementType::F16) => false,
        }
    }

    /// True if a run can set the block sizes of the recipe's kernels.
    pub fn takes_block_sizes(self) -> bool {
        self == EngineKind::Autodiff
    }
}

fn check_autodiff(target: Target, options: &TrainingOptions) -> Result<(), String> {
    if options.gemm == Gemm::Vendor {
        return Err(format!(
            "--gemm vendor: {target} multiplies through burn; use v4"
        ));
    }
    let only_scheduled = match options {
        TrainingOptions { block: Some(_), .. } => "--block single",
        TrainingOptions { capture: false, .. } => "--ultra off",
        _ if options.matmul_precision != MatmulPrecision::Auto => "--matmul-precision",
        _ => return Ok(()),
    };
    Err(format!(
        "{only_scheduled} is v4's: {target} has no such choice"
    ))
}

fn check_scheduled(options: &TrainingOptions) -> Result<(), String> {
    if options.graph && options.gemm != Gemm::Cubek {
        return Err(
            "--graph on: v4 replays its own graph, which --ultra switches; through burn it needs --gemm cubek too".into(),
        );
    }
    let on_cpu = options.backend == BackendChoice::Cpu;
    match options.matmul_precision {
        MatmulPrecision::Tf32 if on_cpu => Err(
            "--matmul-precision tf32: a CPU multiplies in f32; use auto, or the backend of a GPU"
                .into(),
        ),
        _ => Ok(()),
    }
}
