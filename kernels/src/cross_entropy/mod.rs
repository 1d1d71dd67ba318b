//! Softmax, cross entropy and its gradient over one row of logits a token.
//!
//! `loss = log Σ exp(logit) - logit[target]`, and its gradient is `softmax - onehot(target)`. The probabilities are never
//! stored: a row is read once, kept in registers while its maximum and its sum of exponentials are found, and turned
//! into the gradient on the spot, which may overwrite the logits. That moves 2 · rows · classes elements, where
//! log-softmax, gather and their backward passes written as separate operations move six or more.
//!
//! Three launches to choose from: [`forward`] (losses and log-sum-exps), [`backward`] (the gradient from those), and
//! [`fused`] (losses and gradient at once, for a training step in which the loss is the last word). [`mean`] adds the
//! losses up in a fixed order.
//!
//! A target outside the classes is no memory error: that row's loss and gradient are NaN, which no check lets pass.

mod check;
mod kernels;
mod launch;
mod reference;

pub use check::check;
pub use kernels::{cross_entropy_backward, cross_entropy_rows, mean_of};
pub use launch::{Backward, CrossEntropyBlock, Forward, Fused, backward, forward, fused, mean};
pub use reference::{reference_backward, reference_forward};

use cubecl::ir::ElemType;

use crate::{Cost, launch::F32};

const KERNEL: &str = "cross_entropy";

/// `rows` tokens of `classes` logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub rows: usize,
    pub classes: usize,
}

/// Element types: of the logits and their gradient, and of the targets (any integer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dtypes {
    pub logits: ElemType,
    pub targets: ElemType,
}

/// What [`forward`] must move and compute.
pub fn forward_cost(shape: Shape, dtypes: Dtypes) -> Cost {
    let elements = (shape.rows * shape.classes) as u64;
    let rows = shape.rows as u64;
    Cost {
        bytes_read: elements * dtypes.logits.size() as u64 + rows * dtypes.targets.size() as u64,
        bytes_written: rows * 2 * F32.size() as u64,
        // Maximum, difference, exponential, sum; a logarithm, a sum and a difference once a row.
        flops: 4 * elements + 3 * rows,
    }
}

/// What [`fused`] must move and compute.
pub fn fused_cost(shape: Shape, dtypes: Dtypes) -> Cost {
    let elements = (shape.rows * shape.classes) as u64;
    let rows = shape.rows as u64;
    let logits = elements * dtypes.logits.size() as u64;
    Cost {
        bytes_read: logits + rows * dtypes.targets.size() as u64,
        bytes_written: logits + rows * F32.size() as u64,
        // As forward, then difference, exponential and product for the gradient.
        flops: 7 * elements + 4 * rows,
    }
}

/// What [`backward`] must move and compute.
pub fn backward_cost(shape: Shape, dtypes: Dtypes) -> Cost {
    let elements = (shape.rows * shape.classes) as u64;
    let rows = shape.rows as u64;
    let logits = elements * dtypes.logits.size() as u64;
    Cost {
        bytes_read: logits + rows * (dtypes.targets.size() + F32.size()) as u64,
        bytes_written: logits,
        flops: 3 * elements + rows,
    }
}
