//! The residual connection and the RMSNorm behind it in one kernel: `sum = x + residual`, `y = rmsnorm(sum)`.
//!
//! Between two layers of a transformer the residual stream is read, added to, written, and read again by the next
//! norm. Done together the sum is still in registers when its squares are added up: two reads and two writes of
//! rows · width elements instead of three and two.
//!
//! Backward: x and residual get the same gradient, `rmsnorm`'s gradient plus the one that reaches `sum` along the
//! residual stream. That is [`crate::rmsnorm`]'s backward kernel with that gradient passed in.

mod check;
mod kernels;
mod launch;
mod reference;

use launch::forward;
pub use reference::{reference_backward, reference_forward};

use crate::kernel::{Budget, Content, Kernel, Role, Room, Sample};
use crate::launch::F32;
use crate::rmsnorm::{self, Dtypes, EPSILON, RmsNormBlock, Shape};

const NAME: &str = "add_rmsnorm";

pub const KERNEL: Kernel = Kernel {
    name: NAME,
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
    sample: |room, sizes, dtype, chosen| {
        let dtypes = Dtypes {
            activation: dtype,
            weight: dtype,
        };
        sample(room, Shape::of(sizes), dtypes, EPSILON, true, chosen)
    },
    check: check::check,
};

/// Both passes on buffers of `room`; with the sum in the residual's place where asked for.
fn sample(
    room: &mut dyn Room,
    shape: Shape,
    dtypes: Dtypes,
    epsilon: f32,
    in_place: bool,
    chosen: Option<usize>,
) -> Sample {
    let client = room.client().clone();
    let block = RmsNormBlock::new(&client, shape, chosen);
    let elements = shape.rows * shape.width;
    let [x, residual, sum_gradient, y_gradient] = ["x", "residual", "sum_gradient", "y_gradient"]
        .map(|name| room.input(name, elements, dtypes.activation));
    let weight = room.buffer("weight", shape.width, dtypes.weight, Content::Around(1.0));
    let [y, gradient] =
        ["y", "gradient"].map(|name| room.output(name, elements, dtypes.activation));
    let sum = (!in_place).then(|| room.output("sum", elements, dtypes.activation));
    let weight_gradient = room.output("weight_gradient", shape.width, dtypes.weight);
    let workspace = room.output("workspace", rmsnorm::workspace(shape, &block), F32);
    Box::new(move |pass| match pass {
        "forward" => {
            let buffers = [&x, &residual, &weight, &y];
            let sum = sum.as_ref();
            forward(&client, buffers, sum, shape, epsilon, dtypes, &block)
        }
        // The norm's, with the gradient that reaches the sum on the residual's path: that of x and of residual.
        _ => {
            let sum = sum.as_ref().unwrap_or(&residual);
            let [upstream, to_x, to_weight] = [&y_gradient, &gradient, &weight_gradient];
            let buffers = [sum, &weight, upstream, to_x, to_weight, &workspace];
            let passed = Some(&sum_gradient);
            rmsnorm::backward(&client, buffers, passed, shape, epsilon, dtypes, &block)
        }
    })
}
