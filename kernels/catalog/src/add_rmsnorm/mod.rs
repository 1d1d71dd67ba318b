//! The residual connection and the RMSNorm behind it in one kernel: `sum = x + residual`, `y = rmsnorm(sum)`.
//!
//! Between two layers of a transformer the residual stream is read, added to, written, and read again by the next
//! norm. Done together the sum is still in registers when its squares are added up: two reads and two writes of
//! rows · width elements instead of three and two.
//!
//! Backward: x and residual get the same gradient, `rmsnorm`'s gradient plus the one that reaches `sum` along the
//! residual stream. That is [`crate::rmsnorm`]'s backward kernel with that gradient passed in.

mod reference;

pub use reference::{reference_backward, reference_forward};

use crate::kernel::{Budget, Kernel, Role};
use crate::rmsnorm::RmsNormBlock;

pub const KERNEL: Kernel = Kernel {
    name: "add_rmsnorm",
    summary: "residual sum and its norm in one pass over memory",
    launches: "1 forward, 2 backward",
    role: Role::None,
    shape: "rows (tokens) of width features, s bytes an element",
    passes: passes!(|sizes| { rows = sizes.tokens(), width = sizes.hidden, s = 4 } =>
        ("forward", runs: 0, reads: (2 * rows * width + width) * s, writes: 2 * rows * width * s,
         flops: 5 * rows * width + 3 * rows),
        ("backward", runs: 0, reads: (3 * rows * width + width) * s, writes: (rows * width + width) * s,
         flops: 12 * rows * width + 8 * rows),
    ),
    block_size: None,
    block: RmsNormBlock::FIELDS,
    budgets: &[Budget::new("add_rmsnorm_forward", 64, 16)],
};
