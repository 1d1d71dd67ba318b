//! Buffers and launches on the host.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use tinyllama_kernel_catalog::block::TeamBlock;
use tinyllama_kernel_catalog::cross_entropy::CrossEntropyShape;

use super::NAME;
use super::kernels;
use super::workload::CrossEntropyTypes;
use crate::{
    KernelError,
    launch::{CheckedBuffer, F32, check_shape, cube_count, vector_size},
    team::{Team, default_team},
};

/// Computes the loss of every row, and the gradient of `scale · Σ loss`, in one launch. `logits` and `gradient` are
/// `[rows, classes]`, `targets` and the f32 `losses` are `[rows]`, all contiguous. For the mean of the losses, `scale` is 1 / rows.
pub fn rows(
    client: &Client,
    [logits, targets, losses, gradient]: [&Handle; 4],
    scale: f32,
    shape: CrossEntropyShape,
    dtypes: CrossEntropyTypes,
    block: &TeamBlock,
) -> Result<(), KernelError> {
    let elements = check_sizes(shape, dtypes)?;
    let row = |name, handle, dtype| CheckedBuffer::new(NAME, name, handle, shape.rows, dtype);
    let whole = |name, handle| CheckedBuffer::new(NAME, name, handle, elements, dtypes.logits);
    let logits = whole("logits", logits)?;
    let targets = row("targets", targets, dtypes.targets)?;
    let losses = row("losses", losses, F32)?;
    let gradient = whole("gradient", gradient)?;
    let team = Team::new(NAME, client, *block)?;
    let vector = vector_size(client, dtypes.logits, shape.classes, &[logits, gradient]);
    let count = cube_count(client, shape.rows.div_ceil(team.rows));
    // SAFETY: the buffers match the shape, and the kernel stays within `rows` and `vectors`.
    launch!(client, kernels::cross_entropy_rows[count, team.cube_dim()], vector:
        [logits (targets.argument(1)) (losses.argument(1)) gradient],
        shape.rows as u32, scale, shape.classes / vector, team, dtypes.logits, dtypes.targets)
}

/// Computes the mean of `count` f32 values into one f32: one launch of one cube.
pub fn mean(
    client: &Client,
    values: &Handle,
    mean: &Handle,
    count: usize,
) -> Result<(), KernelError> {
    check_shape(NAME, &[count], &[])?;
    let values = CheckedBuffer::new(NAME, "losses", values, count, F32)?;
    let mean = CheckedBuffer::new(NAME, "mean", mean, 1, F32)?;
    let block = TeamBlock::new(default_team(client, count), 1);
    let team = Team::new(NAME, client, block)?;
    // SAFETY: the buffers hold `count` values and one value, and the kernel stays within them.
    launch!(client, kernels::mean_of[CubeCount::new_single(), team.cube_dim()]: [values mean], count as u32, team)
}

fn check_sizes(shape: CrossEntropyShape, dtypes: CrossEntropyTypes) -> Result<usize, KernelError> {
    if !matches!(dtypes.targets, ElemType::Int(_) | ElemType::UInt(_)) {
        let dtype = format!("{:?} for targets", dtypes.targets);
        return Err(KernelError::ElementType(NAME, dtype));
    }
    check_shape(NAME, &[shape.rows, shape.classes], &[dtypes.logits])
}
