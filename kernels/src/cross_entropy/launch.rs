//! Buffers and launches on the host.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use tinyllama_kernel_catalog::block::TeamBlock;
use tinyllama_kernel_catalog::cross_entropy::CrossEntropyShape;

use super::NAME;
use super::kernels;
use super::workload::CrossEntropyTypes;
use crate::{
    KernelError,
    launch::{CheckedBuffer, F32, check_shape, cube_count, default_units, linear, vector_size},
    team::{Team, default_team},
};

/// The output of [`rows`] in addition to the losses.
pub enum RowOutput<'a> {
    /// f32 `[rows]`, for [`backward`].
    LogSums(&'a Handle),
    /// The gradient of `scale · Σ loss`, written over the logits if `to` is `None`. For the mean of the losses, `scale`
    /// is 1 / rows.
    Gradient { to: Option<&'a Handle>, scale: f32 },
}

/// Computes the loss of every row, and its log-sum-exp or its gradient, in one launch. `logits` is `[rows, classes]`,
/// `targets` and the f32 `losses` are `[rows]`, all contiguous.
pub fn rows(
    client: &Client,
    [logits, targets, losses]: [&Handle; 3],
    output: RowOutput<'_>,
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
    // An output that is not written still needs a buffer.
    let (log_sums, gradient, scale) = match output {
        RowOutput::LogSums(log_sums) => (Some(row("log_sums", log_sums, F32)?), None, None),
        RowOutput::Gradient { to, scale } => {
            let gradient = to.map(|gradient| whole("gradient", gradient)).transpose()?;
            (None, gradient, Some(scale))
        }
    };
    let team = Team::new(NAME, client, *block)?;
    let all = [logits, gradient.unwrap_or(logits)];
    let vector = vector_size(client, dtypes.logits, shape.classes, &all);
    let count = cube_count(client, shape.rows.div_ceil(team.rows));
    let log_sums = log_sums.map_or_else(|| losses.alias(2, 1), |log_sums| log_sums.argument(1));
    let gradient = gradient.map_or_else(|| logits.alias(0, vector), |to| to.argument(vector));
    // SAFETY: the buffers match the shape, and the kernel stays within `rows` and `vectors`.
    launch!(client, kernels::cross_entropy_rows[count, team.cube_dim()], vector:
        [logits (targets.argument(1)) (losses.argument(1)) (log_sums) (gradient)],
        shape.rows as u32, scale.unwrap_or(1.0), shape.classes / vector, team, scale.is_some(), dtypes.logits, dtypes.targets)
}

/// Computes the gradient of `upstream · scale · Σ loss` in one launch; `upstream` is one f32, the others are as in [`rows`].
pub fn backward(
    client: &Client,
    [logits, targets, log_sums, upstream, gradient]: [&Handle; 5],
    shape: CrossEntropyShape,
    scale: f32,
    dtypes: CrossEntropyTypes,
) -> Result<(), KernelError> {
    let elements = check_sizes(shape, dtypes)?;
    let buffer =
        |name, handle, elements, dtype| CheckedBuffer::new(NAME, name, handle, elements, dtype);
    let logits = buffer("logits", logits, elements, dtypes.logits)?;
    let targets = buffer("targets", targets, shape.rows, dtypes.targets)?;
    let log_sums = buffer("log_sums", log_sums, shape.rows, F32)?;
    let upstream = buffer("upstream", upstream, 1, F32)?;
    let gradient = buffer("gradient", gradient, elements, dtypes.logits)?;
    let vector = vector_size(client, dtypes.logits, shape.classes, &[logits, gradient]);
    let (cubes, dim) = linear(client, elements / vector, default_units(client));
    // SAFETY: the buffers match the shape, and the kernel stays within `count` vectors.
    launch!(client, kernels::cross_entropy_backward[cubes, dim], vector:
        [logits (targets.argument(1)) (log_sums.argument(1)) (upstream.argument(1)) gradient],
        (elements / vector) as u32, scale, shape.classes / vector, dtypes.logits, dtypes.targets)
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
