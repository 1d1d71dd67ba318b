//! GPU kernels of a tiny LLaMA, written in CubeCL: forward and hand-written backward.
//!
//! One operation a module, in one order: the idea and the bytes it must move, a plain Rust reference, the kernels, the
//! launch functions with their block sizes, what they cost, and a check of the kernels against the reference on any
//! device. `README.md` says how to add one.

mod catalog;
mod cost;
mod error;

pub mod bench;
pub mod binding;
pub mod check;
pub mod launch;
mod number;
pub mod source;
pub mod team;
pub mod tunables;

pub mod adamw;
pub mod add_rmsnorm;
pub mod cross_entropy;
pub mod flash_attention;
pub mod rmsnorm;
pub mod rope;
pub mod swiglu;
pub mod swiglu_naive;

pub use catalog::{CATALOG, Entry};
pub use cost::Cost;
pub use error::KernelError;
