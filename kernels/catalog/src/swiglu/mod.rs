//! The activation of SwiGLU: `y = silu(gate) · up`, with `silu(z) = z · sigmoid(z)` (Shazeer, 2020).
//!
//! `gate` and `up` come from matrix products, best from one product with both weights side by side. Its rows are then a
//! gate half and an up half: the *packed* form. Reading both, multiplying and writing once moves 3 · rows · hidden
//! elements. As separate operations, the sigmoid and the product each go through memory again.
//!
//! Backward: `d_up = dy · silu(gate)`, `d_gate = dy · up · σ · (1 + gate · (1 - σ))`. σ is computed again from gate,
//! because an exponential is cheaper than the bytes for storing it. Gradients may overwrite gate and up.

mod reference;

pub use reference::{reference_backward, reference_forward};

use crate::block::CubeBlock;
use crate::kernel::{KernelDescriptor, ResourceBudget, Role, UNITS_PER_CUBE};

pub const KERNEL: KernelDescriptor = KernelDescriptor {
    name: "swiglu",
    summary: "silu(gate) · up, element by element",
    launches: "1 forward, 1 backward",
    role: Role::Activation,
    shape: "rows of hidden features, s bytes an element",
    passes: passes!(|sizes| { rows = sizes.tokens(), hidden = sizes.ffn, s = 4 } =>
        // Negation, exponential, sum, quotient, two products.
        ("forward", runs: sizes.layers, reads: 2 * rows * hidden * s, writes: rows * hidden * s, flops: 6 * rows * hidden),
        // Four for the sigmoid, six for d_gate, two for d_up.
        ("backward", runs: sizes.layers, reads: 3 * rows * hidden * s, writes: 2 * rows * hidden * s, flops: 12 * rows * hidden),
    ),
    block_size: Some(UNITS_PER_CUBE),
    block: CubeBlock::FIELDS,
    budgets: &[
        ResourceBudget::new("swiglu_forward", 72, 0),
        ResourceBudget::new("swiglu_backward", 80, 0),
    ],
};

/// Shape: `rows` tokens of `hidden` features after the activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SwigluShape {
    pub rows: usize,
    pub hidden: usize,
}
