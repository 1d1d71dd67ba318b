//! The host side: buffers, launches.

use cubecl::{prelude::*, server::Handle};

use super::{NAME, kernels::add_rmsnorm_forward};
use crate::{
    KernelError,
    launch::{Buffer, cube_count, vector_size},
    rmsnorm::{self, Dtypes, RmsNormBlock, Shape},
    team::Team,
};

/// Contiguous buffers of the forward pass: all `[rows, width]` but `weight`, `[width]`.
pub struct Forward<'a> {
    pub x: &'a Handle,
    pub residual: &'a Handle,
    pub weight: &'a Handle,
    /// Where the sum goes; `None` adds x to `residual` in place.
    pub sum: Option<&'a Handle>,
    pub y: &'a Handle,
}

/// Contiguous buffers of the backward pass, shaped as in [`Forward`].
pub struct Backward<'a> {
    pub sum: &'a Handle,
    pub weight: &'a Handle,
    pub sum_gradient: &'a Handle,
    pub y_gradient: &'a Handle,
    /// The gradient of x and of residual.
    pub gradient: &'a Handle,
    pub weight_gradient: &'a Handle,
    /// Scratch memory for [`rmsnorm::workspace`] f32.
    pub workspace: &'a Handle,
}

/// Adds and normalises every row: one launch.
pub fn forward(
    client: &Client,
    buffers: Forward<'_>,
    shape: Shape,
    epsilon: f32,
    dtypes: Dtypes,
    block: &RmsNormBlock,
) -> Result<(), KernelError> {
    let elements = shape.check(NAME, dtypes)?;
    let rows = |name, handle| Buffer::new(NAME, name, handle, elements, dtypes.activation);
    let x = rows("x", buffers.x)?;
    let residual = rows("residual", buffers.residual)?;
    let weight = Buffer::new(NAME, "weight", buffers.weight, shape.width, dtypes.weight)?;
    let sum = rows("sum", buffers.sum.unwrap_or(buffers.residual))?;
    let y = rows("y", buffers.y)?;
    let team = Team::new(NAME, client, block.team)?;
    let all = [x, residual, weight, sum, y];
    let vector = vector_size(client, dtypes.activation, shape.width, &all);
    // SAFETY: the buffers hold what the shape says, and the kernel stays within `rows` and `vectors`.
    unsafe {
        add_rmsnorm_forward::launch_unchecked(
            client,
            cube_count(client, shape.rows.div_ceil(team.rows)),
            team.cube_dim(),
            vector,
            x.argument(vector),
            residual.argument(vector),
            weight.argument(vector),
            match buffers.sum {
                Some(_) => sum.argument(vector),
                None => sum.alias(1, vector),
            },
            y.argument(vector),
            shape.rows as u32,
            epsilon,
            shape.width / vector,
            team,
            dtypes.activation,
            dtypes.weight,
        );
    }
    Ok(())
}

/// Gradients of x, residual and the weight: two launches.
pub fn backward(
    client: &Client,
    buffers: Backward<'_>,
    shape: Shape,
    epsilon: f32,
    dtypes: Dtypes,
    block: &RmsNormBlock,
) -> Result<(), KernelError> {
    let buffers = rmsnorm::Backward {
        x: buffers.sum,
        weight: buffers.weight,
        y_gradient: buffers.y_gradient,
        passed: Some(buffers.sum_gradient),
        x_gradient: buffers.gradient,
        weight_gradient: buffers.weight_gradient,
        workspace: buffers.workspace,
    };
    rmsnorm::backward(client, buffers, shape, epsilon, dtypes, block)
}
