//! The mistake of stage 4: SwiGLU with its two matrix products, written as one unit per output.
//!
//! `y = silu(x · W_gate) · (x · W_up)`. Every unit walks over a whole row of x and a whole column of both weights by itself:
//! rows · hidden units, each with its own 2 · width products, and nothing shared between neighbours. It is correct, it
//! is one launch, and it looks like fusion. But a matrix product does width operations for every number it reads, and a
//! library tiles it so that a number once read is used dozens of times from registers. Here every operation waits for a
//! load, so the caches work at their limit while the arithmetic units idle. The cure is not a better kernel but none:
//! products by the library, and only the activation by hand ([`crate::swiglu`]).
//!
//! There is no backward kernel: the gradients of the activation are [`crate::swiglu`]'s and the products after them the
//! library's.

mod check;
mod kernels;
mod launch;
mod reference;

pub use check::check;
pub use kernels::swiglu_naive_forward;
pub use launch::{Forward, SwigluNaiveBlock, forward};
pub use reference::{Outputs, reference_forward};

use cubecl::ir::ElemType;

use crate::Cost;

const KERNEL: &str = "swiglu_naive";

/// `rows` tokens of `width` features, `hidden` features between the products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub rows: usize,
    pub width: usize,
    pub hidden: usize,
}

/// What the forward pass must move and compute. The kernel reads its inputs from memory or cache many times over: the gap
/// between this floor and what it reaches is the lesson.
pub fn forward_cost(shape: Shape, dtype: ElemType) -> Cost {
    let size = dtype.size() as u64;
    let (x, weight, y) = elements(shape);
    Cost {
        bytes_read: (x + 2 * weight) * size,
        bytes_written: 3 * y * size,
        flops: 4 * y * shape.width as u64 + 6 * y,
    }
}

fn elements(shape: Shape) -> (u64, u64, u64) {
    let product = |a: usize, b: usize| a as u64 * b as u64;
    (
        product(shape.rows, shape.width),
        product(shape.width, shape.hidden),
        product(shape.rows, shape.hidden),
    )
}
