//! Allocates buffers for given sizes and launches every pass on them.

use cubecl::ir::ElemType;
use tinyllama_kernel_catalog::block::TeamBlock;
use tinyllama_kernel_catalog::cross_entropy::{CrossEntropyShape, KERNEL};

use super::launch::{mean, rows};
use super::{NAME, check};
use crate::check::INDEX;
use crate::launch::F32;
use crate::team::team_block;
use crate::workload::{BufferContent, BufferSource, KernelCode, PassLauncher};

/// The kernel's descriptor, and the code that launches it.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, chosen| {
        let shape = CrossEntropyShape {
            rows: sizes.tokens(),
            classes: sizes.vocabulary,
        };
        let block = team_block(NAME, source.client(), shape.classes, chosen);
        launcher(source, shape, dtype, 0.0, block)
    },
    check: check::check,
};

/// Element types of the logits and their gradient, and of the targets (any integer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CrossEntropyTypes {
    pub logits: ElemType,
    pub targets: ElemType,
}

/// Prepares every launch on buffers of `source`, for the mean of the losses; logits lie around `center`.
pub(super) fn launcher(
    source: &mut dyn BufferSource,
    shape: CrossEntropyShape,
    dtype: ElemType,
    center: f64,
    block: TeamBlock,
) -> PassLauncher {
    let client = source.client().clone();
    let dtypes = CrossEntropyTypes {
        logits: dtype,
        targets: INDEX,
    };
    let elements = shape.rows * shape.classes;
    let scale = 1.0 / shape.rows as f32;
    let logits = source.buffer("logits", elements, dtype, BufferContent::Around(center));
    let targets = source.buffer(
        "targets",
        shape.rows,
        INDEX,
        BufferContent::Below(shape.classes),
    );
    let gradient = source.output("gradient", elements, dtype);
    let losses = source.output("losses", shape.rows, F32);
    let average = source.output("mean", 1, F32);
    Box::new(move |pass| match pass {
        "mean" => mean(&client, &losses, &average, shape.rows),
        _ => {
            let buffers = [&logits, &targets, &losses, &gradient];
            rows(&client, buffers, scale, shape, dtypes, &block)
        }
    })
}
