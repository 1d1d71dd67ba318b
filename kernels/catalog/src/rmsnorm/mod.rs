//! RMSNorm: divides every row by its root mean square and multiplies it by a learned weight.
//!
//! `y = x · w · s` with `s = 1 / sqrt(mean(x²) + ε)` (Zhang and Sennrich, 2019). One row is one token.
//!
//! The cost is memory traffic: a row is read once, kept in registers while its squares are summed, and written once.
//! That is 2·rows·width elements in all. As separate operations (square, mean, add, root, divide, multiply) the same
//! result moves several times as much. This makes it the first kernel worth writing by hand.
//!
//! Backward, with `g = dy · w`: `dx = s·g - x·s³·mean(g·x)` and `dw = Σ_rows dy·x·s`. The kernel reads x and dy and
//! writes dx. It computes `s` again, because x is in registers anyway. The sum over rows is split over teams: each
//! keeps a sum in registers over all its rows and writes it once. A second, small kernel adds these partial rows in a
//! fixed order. There are no atomics, so a gradient has the same bits every time.

mod reference;

pub use reference::{reference_backward, reference_forward};

use crate::block::TeamBlock;
use crate::kernel::{KernelDescriptor, ResourceBudget, Role, StepSizes, UNITS_PER_ROW};

/// ε for timings and emitted sources of the kernel. The engine's model passes its own value, 1e-6.
pub const EPSILON: f32 = 1e-5;

pub const KERNEL: KernelDescriptor = KernelDescriptor {
    name: "rmsnorm",
    summary: "x / sqrt(mean(x²) + ε) · weight, one team of units a row",
    launches: "1 forward, 2 backward",
    role: Role::Operations,
    shape: "rows (tokens) of width features, s bytes an element",
    passes: passes!(|sizes| { rows = sizes.tokens(), width = sizes.hidden, s = 4 } =>
        // Square and add; multiply by scale and weight. Mean, epsilon and inverse root once per row.
        ("forward", runs: sizes.norms(), reads: (rows * width + width) * s, writes: rows * width * s,
         flops: 4 * rows * width + 3 * rows),
        // g, two dot products, dx from three products and a difference, dw from two products and a sum. The workspace
        // and a passed gradient do not count.
        ("backward", runs: sizes.norms(), reads: (2 * rows * width + width) * s, writes: (rows * width + width) * s,
         flops: 11 * rows * width + 8 * rows),
    ),
    block_size: Some(UNITS_PER_ROW),
    block: RmsNormBlock::FIELDS,
    budgets: &[
        ResourceBudget::new("rmsnorm_forward", 56, 128),
        ResourceBudget::new("rmsnorm_backward", 128, 256),
        ResourceBudget::new("column_sums", 16, 4096),
    ],
};

/// Shape: `rows` tokens of `width` features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RmsNormShape {
    pub rows: usize,
    pub width: usize,
}

impl RmsNormShape {
    /// Returns all tokens of a model's step.
    pub fn from_sizes(sizes: &StepSizes) -> RmsNormShape {
        RmsNormShape {
            rows: sizes.tokens(),
            width: sizes.hidden,
        }
    }
}

/// Block sizes, known when the kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RmsNormBlock {
    pub team: TeamBlock,
    /// Cubes of the backward kernel. Each team writes one partial row of the weight's gradient.
    pub backward_cubes: usize,
}

impl RmsNormBlock {
    /// Names and descriptions of the fields, the team's first.
    pub const FIELDS: &'static [[&'static str; 2]] = &[
        TeamBlock::FIELDS[0],
        TeamBlock::FIELDS[1],
        [
            "backward_cubes",
            "cubes of the backward kernel; each team writes one partial row",
        ],
    ];
}
