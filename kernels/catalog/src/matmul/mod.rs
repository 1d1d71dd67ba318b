//! The matrix product `y = a b` of `[m, k]` and `[k, n]`. Its gradients are products too: `da = dy bᵀ` and `db = aᵀ dy`. So one
//! kernel multiplies operands that lie in memory as they are or with rows and columns exchanged.
//!
//! Each value of `a` is needed n times, each of `b` m times. A cube therefore moves tiles of both through shared memory, and each
//! of its units (or planes, on matrix units) holds a block of the result in registers. While they multiply one pair of
//! tiles, the next pair is on its way. f32 is rounded to tf32 on its way into shared memory if the device multiplies tf32 on matrix
//! units, and not at all otherwise. Where the result has too few tiles for the device, cubes divide the sum, and a
//! second kernel adds their parts in order.

mod reference;

pub use reference::{Layout, reference};

use crate::kernel::{KernelDescriptor, ResourceBudget, Role, Spill};

pub const KERNEL: KernelDescriptor = KernelDescriptor {
    name: "matmul",
    summary: "product of two matrices, stored either way, through tiles",
    launches: "1 forward, 2 backward, or 2 and 4",
    role: Role::Product,
    shape: "rows of the tokens, depth features in, columns of gate and up together, s bytes an element",
    // The largest product of a block, and its two gradients; a step has other products besides.
    passes: passes!(|sizes| { rows = sizes.tokens(), depth = sizes.hidden, columns = 2 * sizes.ffn, s = 4 } =>
        ("forward", runs: sizes.layers, reads: (rows * depth + depth * columns) * s, writes: rows * columns * s, flops: 2 * rows * depth * columns),
        ("left", runs: sizes.layers, reads: (rows * columns + depth * columns) * s, writes: rows * depth * s, flops: 2 * rows * depth * columns),
        ("right", runs: sizes.layers, reads: (rows * depth + rows * columns) * s, writes: depth * columns * s, flops: 2 * rows * depth * columns),
    ),
    block_size: None,
    block: &[
        [
            "units",
            "units of a cube down and across, or planes on matrix units",
        ],
        ["each", "rows and columns of the result for each of them"],
        ["depth", "elements of the sum in shared memory at a time"],
        ["parts", "cubes that divide the sum of a tile"],
    ],
    budgets: &[
        ResourceBudget {
            spills: &[scratch("tiny"), scratch("small"), scratch("medium")],
            ..ResourceBudget::new("matmul_fma", 256, 20480)
        },
        ResourceBudget::new("matmul_sum", 40, 0),
    ],
};

/// What the kernel by multiply-adds leaves in scratch memory in f32.
const fn scratch(case: &'static str) -> Spill {
    Spill {
        case,
        vgpr_spills: 0,
        scratch_bytes: 80,
        reason: "ROCm multiplies with the library's kernels and takes this one only on request (--tuning rules)",
    }
}

/// The product of `[m, k]` and `[k, n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatmulShape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}
