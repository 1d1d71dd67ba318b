//! The matrix product `[m, k] x [k, n]`, of operands of which either may be stored transposed.
//!
//! A cube computes a tile of the result. It moves tiles of both operands through shared memory, where the next ones arrive
//! while it multiplies. Where the result has too few tiles for the device, cubes divide the sum, and a second kernel adds
//! their parts in a fixed order, so a product has the same bits in every run.

mod fma;
mod launch;
mod mma;
mod plan;
mod sum;
mod tile;

pub use launch::{Operand, matmul};
pub use plan::{MatmulPlan, MatmulShape, plan};

const NAME: &str = "matmul";
