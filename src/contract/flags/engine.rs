//! Flags that the engines accept or refuse.

use super::TrainingArgs;
use crate::targets::Target;
use crate::targets::engine_kind::EngineKind;
use crate::{BackendChoice, ElementType, Gemm, MatmulPrecision};

impl EngineKind {
    /// Refuses flags that `target` does not support with this engine.
    ///
    /// # Errors
    /// Names the flag and the remedy, for people.
    pub fn check(self, target: Target, flags: &TrainingArgs) -> Result<(), String> {
        match self {
            EngineKind::Autodiff => check_autodiff(target, flags),
            EngineKind::Scheduled => check_scheduled(flags),
        }
    }

    /// True if the engine has code for the operand type on the device that `flags` choose.
    pub fn computes(self, flags: &TrainingArgs) -> bool {
        let on_gpu = !matches!(flags.on.backend, BackendChoice::Auto | BackendChoice::Cpu);
        match (self, flags.dtype.into()) {
            (EngineKind::Autodiff, _) | (_, ElementType::F32) => true,
            (EngineKind::Scheduled, ElementType::Bf16) => {
                on_gpu || flags.switches.gemm == Gemm::Cubek
            }
            (EngineKind::Scheduled, ElementType::F16) => false,
        }
    }
}

fn check_autodiff(target: Target, flags: &TrainingArgs) -> Result<(), String> {
    let switches = &flags.switches;
    if switches.gemm == Gemm::Vendor {
        return Err(format!(
            "--gemm vendor: {target} multiplies through burn; use v4"
        ));
    }
    let only_scheduled = if switches.block.is_some() {
        "--block single"
    } else if !switches.ultra.is_on() {
        "--ultra off"
    } else if switches.matmul_precision != MatmulPrecision::Auto {
        "--matmul-precision"
    } else {
        return Ok(());
    };
    Err(format!(
        "{only_scheduled} is v4's: {target} has no such choice"
    ))
}

fn check_scheduled(flags: &TrainingArgs) -> Result<(), String> {
    let switches = &flags.switches;
    if switches.graph.is_on() && switches.gemm != Gemm::Cubek {
        return Err(
            "--graph on: v4 replays its own graph, which --ultra switches; through burn it needs --gemm cubek too".into(),
        );
    }
    let on_cpu = flags.on.backend == BackendChoice::Cpu;
    match switches.matmul_precision {
        MatmulPrecision::Tf32 if on_cpu => Err(
            "--matmul-precision tf32: a CPU multiplies in f32; use auto, or the backend of a GPU"
                .into(),
        ),
        _ => Ok(()),
    }
}
