//! Softmax, cross entropy and its gradient over one row of logits a token.
//!
//! `loss = log Σ exp(logit) - logit[target]`, and its gradient is `softmax - onehot(target)`. The probabilities are never
//! stored: a row is read once, kept in registers while its maximum and its sum of exponentials are found, and turned
//! into the gradient on the spot, which may overwrite the logits. That moves 2 · rows · classes elements, where
//! log-softmax, gather and their backward passes written as separate operations move six or more.
//!
//! Two launches to choose from: [`rows`] gives losses and gradient at once, for a training step in which the loss is the
//! last word, or losses and log-sum-exps, from which [`backward`] makes the gradient. [`mean`] adds the losses up in a
//! fixed order.
//!
//! A target outside the classes is no memory error: that row's loss and gradient are NaN, which no check lets pass.

mod binding;
mod check;
mod kernels;
mod launch;
mod reference;

pub use binding::{cross_entropy, cross_entropy_with_gradient};
pub(crate) use launch::{RowOutput, backward, mean, rows};
pub use reference::{reference_backward, reference_forward};

use cubecl::ir::ElemType;

use crate::check::INDEX;
use crate::kernel::{Budget, Content, Kernel, Role, Room, Sample, UNITS_PER_ROW};
use crate::launch::F32;
use crate::team::TeamBlock;

const NAME: &str = "cross_entropy";

pub const KERNEL: Kernel = Kernel {
    name: NAME,
    summary: "softmax, loss and gradient from one reading of the logits",
    launches: "2 forward with the gradient, 0 backward",
    role: Role::Operations,
    shape: "rows (tokens) of classes logits, s bytes a logit, t bytes a target",
    passes: passes!(|sizes| { rows = sizes.tokens(), classes = sizes.vocabulary, s = 4, t = 4 } =>
        // Maximum, difference, exponential, sum; a logarithm, a sum and a difference once a row. Then difference,
        // exponential and product for the gradient.
        ("both", runs: 1, reads: rows * classes * s + rows * t, writes: rows * classes * s + 4 * rows,
         flops: 7 * rows * classes + 4 * rows),
        ("loss only", reads: rows * classes * s + rows * t, writes: 8 * rows, flops: 4 * rows * classes + 3 * rows),
        ("gradient only", reads: rows * classes * s + rows * (t + 4), writes: rows * classes * s,
         flops: 3 * rows * classes + rows),
        ("mean", reads: 4 * rows, writes: 4, flops: rows),
    ),
    block_size: Some(UNITS_PER_ROW),
    block: TeamBlock::FIELDS,
    budgets: &[
        Budget::new("cross_entropy_rows", 72, 256),
        Budget::new("cross_entropy_backward", 48, 0),
        Budget::new("mean_of", 16, 64),
    ],
    sample: |room, sizes, dtype, chosen| {
        let shape = Shape {
            rows: sizes.tokens(),
            classes: sizes.vocabulary,
        };
        let block = TeamBlock::new(NAME, room.client(), shape.classes, chosen);
        sample(room, shape, dtype, 0.0, block)
    },
    check: check::check,
};

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

/// Every launch on buffers of `room`, for the mean of the losses; logits lie around `center`.
fn sample(
    room: &mut dyn Room,
    shape: Shape,
    dtype: ElemType,
    center: f64,
    block: TeamBlock,
) -> Sample {
    let client = room.client().clone();
    let dtypes = Dtypes {
        logits: dtype,
        targets: INDEX,
    };
    let elements = shape.rows * shape.classes;
    let scale = 1.0 / shape.rows as f32;
    let logits = room.buffer("logits", elements, dtype, Content::Around(center));
    let targets = room.buffer("targets", shape.rows, INDEX, Content::Below(shape.classes));
    let upstream = room.input("upstream", 1, F32);
    let gradient = room.output("gradient", elements, dtype);
    let [losses, log_sums] = ["losses", "log_sums"].map(|name| room.output(name, shape.rows, F32));
    let average = room.output("mean", 1, F32);
    Box::new(move |pass| match pass {
        "gradient only" => {
            let buffers = [&logits, &targets, &log_sums, &upstream, &gradient];
            backward(&client, buffers, shape, scale, dtypes)
        }
        "mean" => mean(&client, &losses, &average, shape.rows),
        _ => {
            let output = match pass {
                "loss only" => RowOutput::LogSums(&log_sums),
                "in place" => RowOutput::Gradient { to: None, scale },
                _ => RowOutput::Gradient {
                    to: Some(&gradient),
                    scale,
                },
            };
            let buffers = [&logits, &targets, &losses];
            rows(&client, buffers, output, shape, dtypes, &block)
        }
    })
}
