//! The matrix product `[m, k] x [k, n]`, of operands of which either may be stored transposed.
//!
//! A cube computes a tile of the result. It moves tiles of both operands through shared memory, where the next ones arrive
//! while it multiplies. Where the result has too few tiles for the device, cubes divide the sum, and a second kernel adds
//! their parts in a fixed order, so a product has the same bits in every run.

mod check;
mod fma;
mod launch;
mod mma;
mod plan;
mod sum;
mod tile;
mod workload;

pub use launch::{Operand, matmul};
pub use plan::plan;
pub(crate) use workload::CODE;

/// The kernel's name in the catalogue.
const NAME: &str = tinyllama_kernel_catalog::matmul::KERNEL.name;
