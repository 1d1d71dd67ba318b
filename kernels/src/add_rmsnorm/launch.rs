//! The host side: block sizes, buffers, launches.

use cubecl::{prelude::*, server::Handle};

use super::{KERNEL, add_rmsnorm_forward};
use crate::{
    KernelError,
    launch::{buffer, check_buffer, cube_count, vector_size},
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
    /// Scratch memory, [`rmsnorm::workspace_bytes`] long.
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
    let elements = rmsnorm::check_shape(KERNEL, shape, dtypes)?;
    let sum = buffers.sum.unwrap_or(buffers.residual);
    let mut aligned = vec![(buffers.weight, dtypes.weight)];
    for (name, handle) in [
        ("x", buffers.x),
        ("residual", buffers.residual),
        ("sum", sum),
        ("y", buffers.y),
    ] {
        check_buffer(KERNEL, name, handle, elements, dtypes.activation)?;
        aligned.push((handle, dtypes.activation));
    }
    check_buffer(KERNEL, "weight", buffers.weight, shape.width, dtypes.weight)?;
    let team = Team::new(KERNEL, client, block.units_per_row, block.rows_per_cube)?;
    let vector = vector_size(client, dtypes.activation, shape.width, &aligned);

    // SAFETY: the lengths were checked above, and the kernel stays within `rows` and `vectors`.
    unsafe {
        add_rmsnorm_forward::launch_unchecked(
            client,
            cube_count(client, shape.rows.div_ceil(team.rows)),
            team.cube_dim(),
            vector,
            buffer(buffers.x, elements, vector),
            buffer(buffers.residual, elements, vector),
            buffer(buffers.weight, shape.width, vector),
            match buffers.sum {
                Some(sum) => buffer(sum, elements, vector),
                None => BufferArg::alias(1, elements / vector),
            },
            buffer(buffers.y, elements, vector),
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
