//! Emits the CubeCL kernels as C++, compiles them for GPUs that need not exist, and checks what they take of a compute unit.
//!
//! The program contains what this tool has recorded: the table `assets/kernel-resources.json` and the sources in
//! `assets/kernel-sources`. `record` writes both again; a test says when that is due. All figures come from compilers, none
//! from measurements.
//!
//! ```sh
//! cargo run -p tinyllama-emit --features vulkan -- record
//! cargo run -p tinyllama-emit --features vulkan -- resources --arch all --budget
//! ```
//!
//! Only budgets can be checked without one of the features `vulkan`, `rocm` and `cuda`: they alone have the code generator.

pub mod budget;
#[cfg(feature = "gpu")]
pub mod candidates;
#[cfg(feature = "gpu")]
pub mod hiprtc;
#[cfg(feature = "gpu")]
pub mod objects;
#[cfg(feature = "gpu")]
pub mod record;
#[cfg(feature = "gpu")]
pub mod resources;
#[cfg(feature = "gpu")]
pub mod selection;
#[cfg(feature = "gpu")]
pub mod source;
#[cfg(feature = "gpu")]
pub mod texts;
