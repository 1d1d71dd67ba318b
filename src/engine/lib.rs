//! Trains every target of the course.
//!
//! [`device`] finds and opens devices, through burn's backends and through a thin layer over the HIP and CUDA drivers.
//! [`model`] is the tiny LLaMA on burn's tensors. [`train`] is the training loop and its telemetry. [`targets`] holds
//! the engines that execute a step: `autodiff` through burn, `v4` by a schedule of launches. Everything that calls burn's GPU backends and
//! their code generators is in `gpu`; `no_gpu.rs` has the same functions for a build without them.
//!
//! ```no_run
//! use tinyllama_contract::flags::RunSpec;
//!
//! let spec = RunSpec::parse("v1", ["--backend", "cpu"])?;
//! let options = spec.flags.options(spec.target)?;
//! let device = tinyllama_engine::targets::open(&options)?;
//! println!("{}", device.facts().device);
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod device;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(not(feature = "gpu"))]
#[path = "no_gpu.rs"]
mod gpu;
pub mod model;
pub mod targets;
pub mod train;
