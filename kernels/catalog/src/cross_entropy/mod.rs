//! Softmax, cross entropy and its gradient over one row of logits per token.
//!
//! `loss = log Σ exp(logit) - logit[target]`, and its gradient is `softmax - onehot(target)`. The probabilities are
//! never stored. A row is read once and kept in registers while its maximum and its sum of exponentials are computed.
//! The gradient follows from the same registers and may overwrite the logits. That moves 2 · rows · classes elements.
//! Log-softmax, gather and their backward passes as separate operations move six or more.
//!
//! One launch gives losses and gradient at once, for a training step that ends with the loss. Or it gives losses and
//! log-sum-exps, from which a second launch computes the gradient. A third launch adds the losses in a fixed order.
//!
//! A target outside the classes causes no memory error: that row's loss and gradient become NaN, which every check
//! rejects.

mod reference;

pub use reference::{reference_backward, reference_forward};

use crate::block::TeamBlock;
use crate::kernel::{KernelDescriptor, ResourceBudget, Role, UNITS_PER_ROW};

pub const KERNEL: KernelDescriptor = KernelDescriptor {
    name: "cross_entropy",
    summary: "softmax, loss and gradient from one reading of the logits",
    launches: "2 forward with the gradient, 0 backward",
    role: Role::Operations,
    shape: "rows (tokens) of classes logits, s bytes a logit, t bytes a target",
    passes: passes!(|sizes| { rows = sizes.tokens(), classes = sizes.vocabulary, s = 4, t = 4 } =>
        // Maximum, difference, exponential and sum per element; a logarithm, a sum and a difference per row. The
        // gradient adds difference, exponential and product.
        ("both", runs: 1, reads: rows * classes * s + rows * t, writes: rows * classes * s + 4 * rows,
         flops: 7 * rows * classes + 4 * rows),
        ("mean", reads: 4 * rows, writes: 4, flops: rows),
    ),
    block_size: Some(UNITS_PER_ROW),
    block: TeamBlock::FIELDS,
    budgets: &[
        ResourceBudget::new("cross_entropy_rows", 72, 256),
        ResourceBudget::new("mean_of", 16, 64),
    ],
};

/// Shape: `rows` tokens of `classes` logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CrossEntropyShape {
    pub rows: usize,
    pub classes: usize,
}
