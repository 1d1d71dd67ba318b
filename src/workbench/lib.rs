//! Kernels that learners write in HIP C++: exercises, and three ways to run them.
//!
//! An [`exercise`] says what to write, which sizes are tried, and what result is right. [`stand_in`] compiles the file for
//! this machine and runs it lane by lane in a separate process, which finds faults that a GPU would hide. [`gpu`] runs the
//! same file through hiprtc or nvrtc, and [`bench`](mod@bench) times it. [`amd`] asks a compiler for the resources it
//! takes on an AMD GPU. [`check`] combines the stand-in's results, and [`picture`] draws how a wavefront accesses memory.

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
