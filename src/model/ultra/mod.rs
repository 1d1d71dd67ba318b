//! V4: a training step without a tape, scheduled by hand.
//!
//! A [`Schedule`] lists every launch of the step, forward and backward, with what each reads and writes. An
//! [`Executor`] carries it out: [`HostExecutor`] on the CPU, in f32; [`DeviceExecutor`] through CUDA or HIP, where the
//! whole step is captured once as a graph and replayed; [`ClientExecutor`] through burn, on any of its backends.
//! [`Trainer`] is what the rest of the program sees.

pub mod buffers;
pub mod client;
mod cost;
pub mod device;
pub mod endurance;
pub mod executor;
pub mod host;
pub mod layout;
pub mod operation;
#[cfg(test)]
mod oracle;
pub mod schedule;
#[cfg(test)]
mod tests;
mod trainer;
mod update;

pub use client::{ClientExecutor, ClientOptions};
pub use cost::Cost;
pub use device::{
    DeviceExecutor, DeviceOptions, LaunchTimes, MatrixPrecision, SingleBlock, Tuning, single_block,
};
pub use endurance::{Replays, Reshapes, replays, reshapes};
pub use executor::{Executor, Hyperparameters, Launches, MemoryHeld, PhaseTimes, Span};
pub use host::HostExecutor;
pub use schedule::{Node, Phase, Schedule, Spread};
pub use trainer::{BatchError, NamedValues, NodeTime, StepResult, Trainer, Wait};
pub use update::Factors;

/// Base of the geometric series of rotation frequencies.
const ROTARY_BASE: f64 = 10_000.0;
