//! V4: a training step without a tape, scheduled by hand.
//!
//! A [`Schedule`] lists every launch of the step, forward and backward, with what each reads and writes. An
//! [`Executor`] executes it. There are three: [`HostExecutor`] runs on the CPU, in f32. [`DeviceExecutor`] runs through
//! CUDA or HIP, where it captures the whole step once as a graph and replays it. [`ClientExecutor`] runs through burn,
//! on any of its backends. [`ScheduleTrainer`] trains with one of them. A `Platform` opens the device and creates the
//! executor.

mod block;
mod buffers;
mod client;
mod device;
mod engine;
mod executor;
mod host;
mod layout;
mod operation;
mod platform;
pub mod products;
mod ranks;
mod schedule;
mod shards;
#[cfg(test)]
mod tests;
mod trainer;
mod work;

pub use client::{ClientExecutor, ClientOptions};
pub use device::{
    ArgumentSource, DeviceExecutor, DeviceOptions, LaunchTimes, OfflineKernel, offline_kernels,
    sources, time_alone,
};
pub use executor::{Executor, StepSpan};
pub use host::HostExecutor;
pub use platform::open;
pub use schedule::{Concurrency, Schedule, StepPhase};
pub use tinyllama_contract::targets::v4::TARGET;
pub use trainer::ScheduleTrainer;
