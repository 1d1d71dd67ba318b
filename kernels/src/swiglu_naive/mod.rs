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

mod binding;
mod check;
mod kernels;
mod launch;
mod reference;

pub use binding::swiglu_naive;
use launch::forward;
pub(crate) use reference::reference_forward;

use cubecl::ir::ElemType;

use crate::kernel::{Budget, Kernel, Role, Room, Sample, UNITS_PER_CUBE};
use crate::launch::CubeBlock;

const NAME: &str = "swiglu_naive";

pub const KERNEL: Kernel = Kernel {
    name: NAME,
    summary: "the mistake of stage 4: one unit computes a whole output's dot products",
    launches: "1 forward, 1 backward by swiglu",
    role: Role::NaiveActivation,
    shape: "rows of width features in and hidden features out, s bytes an element",
    // The kernel reads its inputs from memory or cache many times over: the gap between this floor and what it reaches is the
    // lesson.
    passes: passes!(|sizes| { rows = sizes.tokens(), width = sizes.hidden, hidden = sizes.ffn, s = 4 } =>
        ("forward", runs: 0, reads: (rows * width + 2 * width * hidden) * s, writes: 3 * rows * hidden * s,
         flops: 4 * rows * hidden * width + 6 * rows * hidden),
    ),
    block_size: Some(UNITS_PER_CUBE),
    block: CubeBlock::FIELDS,
    budgets: &[Budget::new("swiglu_naive_forward", 24, 0)],
    sample: |room, sizes, dtype, chosen| {
        let shape = Shape {
            rows: sizes.tokens(),
            width: sizes.hidden,
            hidden: sizes.ffn,
        };
        sample(room, shape, dtype, chosen)
    },
    check: check::check,
};

/// `rows` tokens of `width` features, `hidden` features between the products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub rows: usize,
    pub width: usize,
    pub hidden: usize,
}

/// The forward pass on buffers of `room`.
fn sample(room: &mut dyn Room, shape: Shape, dtype: ElemType, chosen: Option<usize>) -> Sample {
    let client = room.client().clone();
    let block = CubeBlock::new(NAME, &client, chosen);
    let x = room.input("x", shape.rows * shape.width, dtype);
    let [gate_weight, up_weight] = ["gate_weight", "up_weight"]
        .map(|name| room.input(name, shape.width * shape.hidden, dtype));
    let [gate, up, y] =
        ["gate", "up", "y"].map(|name| room.output(name, shape.rows * shape.hidden, dtype));
    Box::new(move |_| {
        let buffers = [&x, &gate_weight, &up_weight, &gate, &up, &y];
        forward(&client, buffers, shape, dtype, &block)
    })
}
