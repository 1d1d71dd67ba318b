//! V4: a training step without a tape, scheduled by hand.
//!
//! A [`Schedule`] lists every launch of the step, forward and backward, with what each reads and writes. An
//! [`Executor`] carries it out: [`HostExecutor`] on the CPU, in f32; [`DeviceExecutor`] through CUDA or HIP, where the
//! whole step is captured once as a graph and replayed; [`ClientExecutor`] through burn, on any of its backends.
//! [`Trainer`] trains with one of them, and a [`Platform`] is where it does.

mod block;
mod buffers;
mod client;
mod device;
mod endurance;
mod engine;
mod executor;
mod host;
mod layout;
mod operation;
mod platform;
pub mod products;
mod ranks;
mod schedule;
#[cfg(test)]
mod tests;
mod trainer;
mod work;

use anyhow::Result;
use burn::tensor::FloatDType;

use super::{Description, EngineKind, Kind, Target, Words, v3};
use crate::device::BackendChoice;
use crate::train::{EngineDevice, Gemm, MatmulPrecision, Options, Synchronize};

pub use client::{ClientExecutor, ClientOptions};
pub use device::{BUDGETS, DeviceExecutor, DeviceOptions, Given, LaunchTimes, alone, launches};
pub use endurance::{Replays, Reshapes, replays, reshapes};
pub use executor::{Executor, Span};
pub use host::HostExecutor;
pub use operation::SUM;
pub use platform::open;
pub use schedule::{Concurrency, Phase, Schedule};
pub use trainer::Trainer;
pub use work::ring_share;

pub const TARGET: Target = Target(&Description {
    name: "v4",
    summary: "ultra: no tape, the whole step scheduled by hand, the vendor's products, replayed as a graph",
    kind: Kind::Version,
    recipe: v3::RECIPE,
    // A graph is one piece: waiting inside it would mean doing without.
    timing: Synchronize::Step,
    engine: &Scheduled,
});

/// Steps by a schedule.
struct Scheduled;

impl EngineKind for Scheduled {
    fn open(&self, options: &Options) -> Result<Box<dyn EngineDevice>> {
        Ok(Box::new(open(options)?))
    }

    fn check(&self, _: Target, options: &Options) -> Result<(), String> {
        let on_cpu = options.backend == BackendChoice::Cpu;
        match options.matmul_precision {
            MatmulPrecision::Tf32 if on_cpu => Err(
                "--matmul-precision tf32: a CPU multiplies in f32; take auto, or the backend of a GPU"
                    .into(),
            ),
            _ => Ok(()),
        }
    }

    /// The host form knows f32 only, and no form f16.
    fn computes(&self, options: &Options) -> bool {
        let on_gpu = !matches!(options.backend, BackendChoice::Auto | BackendChoice::Cpu);
        match options.operand_dtype {
            FloatDType::F32 => true,
            FloatDType::BF16 => on_gpu || options.gemm == Gemm::Cubek,
            _ => false,
        }
    }

    fn takes_block_sizes(&self) -> bool {
        false
    }

    fn words(&self) -> Words {
        Words {
            products: "the vendor's library: cuBLASLt, hipBLASLt or rocBLAS",
            neighbours: Some(
                "joined by hand: residual sums into the products before them, the embedding's lookup with the first norm",
            ),
            norm: None,
            step: "planned once: every launch, forward and backward, on buffers that stay, captured as a graph and replayed",
            passages: &[
                passage!(
                    "src/targets/v4/schedule/builder.rs",
                    "    pub(super) fn build("
                ),
                passage!("src/targets/v4/device/mod.rs", "    fn capture("),
            ],
        }
    }
}
