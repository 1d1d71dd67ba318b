//! RMSNorm: every row divided by its root mean square, then scaled by a learned weight.
//!
//! `y = x · w · s` with `s = 1 / sqrt(mean(x²) + ε)` (Zhang and Sennrich, 2019). One row is one token.
//!
//! The work is all traffic: a row is read once, kept in registers while its squares are summed, and written once,
//! 2·rows·width elements in all. Written as separate operations (square, mean, add, root, divide, multiply) the same
//! result moves several times that, which is why this is the first kernel worth writing by hand.
//!
//! Backward, with `g = dy · w`: `dx = s·g - x·s³·mean(g·x)` and `dw = Σ_rows dy·x·s`. It reads x and dy and writes dx; `s`
//! is computed again because x is in registers anyway. The sum over rows is split over teams: each keeps its own
//! sum in registers over all its rows and writes it once, and a second, small kernel adds these partial rows in a
//! fixed order. No atomics, so a gradient has the same bits every time.

mod binding;
mod check;
mod kernels;
mod launch;
mod reference;

pub use binding::{rms_norm, rms_norm_gradient, rms_norm_gradient_onto};
pub(crate) use kernels::normalize;
pub(crate) use launch::{RmsNormBlock, backward, forward, workspace};
pub use reference::{reference_backward, reference_forward};

use cubecl::ir::ElemType;

use crate::kernel::{Budget, Content, Kernel, Role, Room, Sample, Sizes, UNITS_PER_ROW};
use crate::launch::F32;

const NAME: &str = "rmsnorm";

/// The constant that a model adds to the mean of squares.
pub(crate) const EPSILON: f32 = 1e-5;

pub const KERNEL: Kernel = Kernel {
    name: NAME,
    summary: "x / sqrt(mean(x²) + ε) · weight, one team of units a row",
    launches: "1 forward, 2 backward",
    role: Role::Operations,
    shape: "rows (tokens) of width features, s bytes an element",
    passes: passes!(|sizes| { rows = sizes.tokens(), width = sizes.hidden, s = 4 } =>
        // Square and add; times scale and weight. Mean, epsilon and inverse root once a row.
        ("forward", runs: sizes.norms(), reads: (rows * width + width) * s, writes: rows * width * s,
         flops: 4 * rows * width + 3 * rows),
        // g, two dot products, dx from three products and a difference, dw from two products and a sum. Not counted: the
        // workspace, and a passed gradient.
        ("backward", runs: sizes.norms(), reads: (2 * rows * width + width) * s, writes: (rows * width + width) * s,
         flops: 11 * rows * width + 8 * rows),
    ),
    block_size: Some(UNITS_PER_ROW),
    block: RmsNormBlock::FIELDS,
    budgets: &[
        Budget::new("rmsnorm_forward", 56, 128),
        Budget::new("rmsnorm_backward", 128, 256),
        Budget::new("column_sums", 16, 4096),
    ],
    sample: |room, sizes, dtype, chosen| {
        let shape = Shape::of(sizes);
        let dtypes = Dtypes {
            activation: dtype,
            weight: dtype,
        };
        let block = RmsNormBlock::new(room.client(), shape, chosen);
        sample(room, shape, dtypes, EPSILON, false, block)
    },
    check: check::check,
};

/// `rows` tokens of `width` features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub rows: usize,
    pub width: usize,
}

impl Shape {
    pub(crate) fn of(sizes: &Sizes) -> Shape {
        Shape {
            rows: sizes.tokens(),
            width: sizes.hidden,
        }
    }
}

/// Element types: of x, y and their gradients, and of the weight and its gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dtypes {
    pub activation: ElemType,
    pub weight: ElemType,
}

/// Both passes on buffers of `room`; with a gradient `passed` on where asked for.
fn sample(
    room: &mut dyn Room,
    shape: Shape,
    dtypes: Dtypes,
    epsilon: f32,
    passed: bool,
    block: RmsNormBlock,
) -> Sample {
    let client = room.client().clone();
    let elements = shape.rows * shape.width;
    let [x, y_gradient] =
        ["x", "y_gradient"].map(|name| room.input(name, elements, dtypes.activation));
    let passed = passed.then(|| room.input("passed", elements, dtypes.activation));
    let weight = room.buffer("weight", shape.width, dtypes.weight, Content::Around(1.0));
    let [y, x_gradient] =
        ["y", "x_gradient"].map(|name| room.output(name, elements, dtypes.activation));
    let weight_gradient = room.output("weight_gradient", shape.width, dtypes.weight);
    let workspace = room.output("workspace", workspace(shape, &block), F32);
    Box::new(move |pass| match pass {
        "forward" => forward(&client, [&x, &weight, &y], shape, epsilon, dtypes, &block),
        _ => {
            let [upstream, to_x, to_weight] = [&y_gradient, &x_gradient, &weight_gradient];
            let buffers = [&x, &weight, upstream, to_x, to_weight, &workspace];
            let passed = passed.as_ref();
            backward(&client, buffers, passed, shape, epsilon, dtypes, &block)
        }
    })
}
