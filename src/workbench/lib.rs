//! Kernels that learners write in HIP C++: exercises, and what executes and judges them.
//!
//! An [`exercise`] says what to write and which sizes are tried, and its [`mod@reference`] what result is right. [`judge`] compiles the file for an
//! AMD GPU and executes its machine code in the emulator, which finds faults that a GPU would hide; [`check`] does that for
//! every case. [`machine`] lists and records the instructions, and [`picture`] draws how a wavefront accesses memory.
//! [`amd`] asks a compiler for the resources that a kernel takes, [`occupancy`] compares them. [`compiled`] has what a compiler makes of the tutor's own
//! kernels.
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
pub mod compare;
pub mod compiled;
pub mod costs;
pub mod exercise;
pub mod exercise_file;
pub mod file;
pub mod finding;
pub mod judge;
pub mod machine;
pub mod occupancy;
pub mod picture;
pub mod problem;
pub mod reference;
pub mod source;
pub mod text;

pub use exercise::{Exercise, exercises, find};
pub use file::KernelFile;
pub use finding::{FindingKind, KernelFinding};
pub use problem::PreparedCase;
