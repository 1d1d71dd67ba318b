//! The activation of SwiGLU: `y = silu(gate) · up`, with `silu(z) = z · sigmoid(z)` (Shazeer, 2020).
//!
//! `gate` and `up` come from matrix products, best from one product with both weights side by side, whose rows are then
//! a gate half and an up half: the *packed* form. Reading both, multiplying and writing once moves 3 · rows · hidden
//! elements; written as separate operations the sigmoid and the product each go through memory again.
//!
//! Backward: `d_up = dy · silu(gate)`, `d_gate = dy · up · σ · (1 + gate · (1 - σ))`. σ is computed again from gate, because an
//! exponential is cheaper than the bytes of keeping it. Gradients may overwrite gate and up.

mod check;
mod kernels;
mod launch;
mod reference;

pub use check::check;
pub use kernels::{swiglu_backward, swiglu_forward};
pub use launch::{Backward, Forward, GateUp, SwigluBlock, backward, forward};
pub use reference::{reference_backward, reference_forward};

use cubecl::ir::ElemType;

use crate::Cost;

const KERNEL: &str = "swiglu";

/// `rows` tokens of `hidden` features after the activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub rows: usize,
    pub hidden: usize,
}

/// What [`forward`] must move and compute.
pub fn forward_cost(shape: Shape, dtype: ElemType) -> Cost {
    let elements = (shape.rows * shape.hidden) as u64;
    let moved = elements * dtype.size() as u64;
    Cost {
        bytes_read: 2 * moved,
        bytes_written: moved,
        // Negation, exponential, sum, quotient, two products.
        flops: 6 * elements,
    }
}

/// What [`backward`] must move and compute.
pub fn backward_cost(shape: Shape, dtype: ElemType) -> Cost {
    let elements = (shape.rows * shape.hidden) as u64;
    let moved = elements * dtype.size() as u64;
    Cost {
        bytes_read: 3 * moved,
        bytes_written: 2 * moved,
        // Four for the sigmoid, six for d_gate, two for d_up.
        flops: 12 * elements,
    }
}
