//! The mistake of stage 4: SwiGLU with its two matrix products, written as one unit per output.
//!
//! `y = silu(x · W_gate) · (x · W_up)`. Each of the rows · hidden units reads a whole row of x and a whole column of
//! both weights. It computes 2 · width products and shares nothing with its neighbours. The kernel is correct, it is
//! one launch, and it looks like fusion. But a matrix product does width operations for every number that it reads. A
//! library tiles it, so that a number is used dozens of times from registers once it is read. Here every operation
//! waits for a load: the caches work at their limit while the arithmetic units idle. The cure is no better kernel, but
//! none: products by the library, and only the activation by hand ([`crate::swiglu`]).
//!
//! There is no backward kernel: the gradients of the activation are [`crate::swiglu`]'s, and the products after them
//! are the library's.

mod reference;

pub use reference::{ForwardOutputs, reference_forward};

use crate::block::CubeBlock;
use crate::kernel::{KernelDescriptor, ResourceBudget, Role, UNITS_PER_CUBE};

pub const KERNEL: KernelDescriptor = KernelDescriptor {
    name: "swiglu_naive",
    summary: "the mistake of stage 4: one unit computes a whole output's dot products",
    launches: "1 forward, 1 backward by swiglu",
    role: Role::NaiveActivation,
    shape: "rows of width features in and hidden features out, s bytes an element",
    // The kernel reads its inputs from memory or cache many times. The gap between this floor and the measured time is
    // the lesson.
    passes: passes!(|sizes| { rows = sizes.tokens(), width = sizes.hidden, hidden = sizes.ffn, s = 4 } =>
        ("forward", runs: 0, reads: (rows * width + 2 * width * hidden) * s, writes: 3 * rows * hidden * s,
         flops: 4 * rows * hidden * width + 6 * rows * hidden),
    ),
    block_size: Some(UNITS_PER_CUBE),
    block: CubeBlock::FIELDS,
    budgets: &[ResourceBudget::new("swiglu_naive_forward", 24, 0)],
};

/// Shape: `rows` tokens of `width` features, `hidden` features between the products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SwigluNaiveShape {
    pub rows: usize,
    pub width: usize,
    pub hidden: usize,
}
