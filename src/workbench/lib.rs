//! Kernels that learners write in HIP C++: exercises, and what executes and judges them.
//!
//! An [`exercise`] says what to write, which sizes are tried, and what result is right. [`stand_in`] compiles the file for
//! this machine and runs it lane by lane in a separate process, which finds faults that a GPU would hide. [`check`] combines
//! its results. [`machine`] executes the instructions that a compiler makes of the file for an AMD GPU, and [`amd`] asks for
//! the resources that they take. [`proof`] shows for every size that lanes stay within their arrays. [`picture`] draws how a
//! wavefront accesses memory. [`compiled`] has what a compiler makes of the tutor's own kernels.
//!
//! The crate uses `base`, `contract`, `profile`, `machine` and `kernels/catalog`. How a GPU runs the same files is in
//! `src/learner_kernels`, because that needs the engine.
//!
//! ```
//! let exercise = tinyllama_workbench::find("rmsnorm")?;
//! assert!(exercise.text.contains("mean"));
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod amd;
pub mod check;
mod child;
pub mod compile;
pub mod compiled;
pub mod exercise;
pub mod exercise_file;
pub mod file;
pub mod finding;
pub mod host;
pub mod machine;
mod object_file;
pub mod picture;
pub mod problem;
pub mod proof;
mod reference;
pub mod stand_in;
#[cfg(test)]
mod tests;
pub mod text;
mod tokens;
pub mod toolchain;

pub use exercise::{Exercise, exercises, find};
pub use file::KernelFile;
pub use finding::{FindingKind, KernelFinding};
pub use problem::PreparedCase;
pub use toolchain::ToolchainError;
