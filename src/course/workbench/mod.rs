//! Kernels that learners write, in HIP C++: exercises, and three ways to carry them out.
//!
//! An [`exercise`] says what to write, on which sizes it is tried, and what is right. [`stand_in`] compiles the file for
//! this machine and runs it lane by lane in a process of its own, which finds what a GPU would suffer in silence; [`gpu`]
//! runs the same file through hiprtc or nvrtc, [`bench`](mod@bench) times it; [`amd`] asks a compiler what it takes of an AMD GPU.
//! [`check`] puts the stand-in's answers together, [`picture`] draws how a wavefront meets memory.

pub mod amd;
pub mod check;
mod child;
pub mod compile;
pub mod exercise;
mod expression;
pub mod file;
pub mod finding;
mod object_file;
pub mod picture;
pub mod place;
pub mod problem;
mod reference;
pub mod stand_in;
#[cfg(test)]
mod tests;
mod tokens;
pub mod toolchain;
pub mod words;

pub use exercise::{Exercise, exercises, find};
pub use file::File;
pub use finding::{Finding, Kind};
pub use problem::Problem;
pub use toolchain::ToolchainError;
