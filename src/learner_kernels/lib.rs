//! Runs kernels that learners write on a GPU and in V4's model, which needs both the workbench and the engine.
//!
//! [`gpu`] compiles a file and checks it on a GPU, and [`mod@bench`] times it there. [`in_model`] puts one in the place of
//! V4's own, and [`agreement`] compares a step with it and without it. Without a GPU the workbench checks kernels.
//!
//! The crate uses `base`, `contract`, `workbench` and `engine`.
//!
//! ```
//! use tinyllama_contract::targets::v4;
//! use tinyllama_learner_kernels::agreement::read_named;
//!
//! assert!(read_named(&[], v4::TARGET)?.is_empty());
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod agreement;
pub mod bench;
pub mod gpu;
pub mod in_model;
mod reference;

#[cfg(test)]
use tinyllama_engine::device::driver;

#[cfg(test)]
#[allow(dead_code, reason = "the engine's tests use the rest")]
#[path = "../engine/device/driver/tests/stand_in.rs"]
mod stand_in;
