//! Every kernel of this crate, for lists and for checking all of them at once.

use cubecl::ir::ElemType;
use cubecl::prelude::Client;

use crate::check::Check;
use crate::{
    KernelError, adamw, add_rmsnorm, cross_entropy, flash_attention, rmsnorm, rope, swiglu,
    swiglu_naive,
};

/// Checks a kernel on a client, in an element type, on inputs drawn from a seed.
type CheckFunction = fn(&Client, ElemType, u64) -> Result<Vec<Check>, KernelError>;

/// One operation of this crate.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What one run launches: forward, then backward.
    pub launches: &'static str,
    pub check: CheckFunction,
}

/// Every operation, in the order a training step meets them.
pub const CATALOG: [Entry; 8] = [
    Entry {
        name: "rmsnorm",
        summary: "x / sqrt(mean(x²) + ε) · weight, one team of units a row",
        launches: "1 forward, 2 backward",
        check: rmsnorm::check,
    },
    Entry {
        name: "add_rmsnorm",
        summary: "residual sum and its norm in one pass over memory",
        launches: "1 forward, 2 backward",
        check: add_rmsnorm::check,
    },
    Entry {
        name: "rope",
        summary: "turns pairs of queries and keys by their position, in place",
        launches: "1 forward, 1 backward",
        check: rope::check,
    },
    Entry {
        name: "flash_attention",
        summary: "causal attention over grouped heads; scores never leave the chip",
        launches: "1 forward, 2 backward; 1 for the log-sum-exp alone",
        check: flash_attention::check,
    },
    Entry {
        name: "swiglu",
        summary: "silu(gate) · up, element by element",
        launches: "1 forward, 1 backward",
        check: swiglu::check,
    },
    Entry {
        name: "swiglu_naive",
        summary: "the mistake of stage 4: one unit computes a whole output's dot products",
        launches: "1 forward, 1 backward by swiglu",
        check: swiglu_naive::check,
    },
    Entry {
        name: "cross_entropy",
        summary: "softmax, loss and gradient from one reading of the logits",
        launches: "2 forward with the gradient, 0 backward",
        check: cross_entropy::check,
    },
    Entry {
        name: "adamw",
        summary: "updates every parameter in place with one launch",
        launches: "1",
        check: adamw::check,
    },
];
