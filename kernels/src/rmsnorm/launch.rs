//! The host side: block sizes, buffers, launches.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::{Dtypes, KERNEL, Shape, column_sums, rmsnorm_backward, rmsnorm_forward};
use crate::{
    KernelError,
    launch::{
        F32, buffer, check_buffer, check_elements, check_float, compute_units, cube_count,
        vector_size,
    },
    team::{Team, team_of},
};

/// Cubes along one dimension that every runtime accepts.
const MOST_CUBES: usize = 65_535;

/// Columns that one cube of [`column_sums`] adds up: one 128-byte line of f32.
const SUM_COLUMNS: usize = 32;

/// Block sizes; comptime values of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RmsNormBlock {
    /// Units that share a row; a power of two.
    pub units_per_row: usize,
    /// Rows a cube holds at a time.
    pub rows_per_cube: usize,
    /// Cubes of the backward kernel; each of its teams writes one partial row of the weight's gradient.
    pub backward_cubes: usize,
}

impl RmsNormBlock {
    /// Block sizes for this device and shape.
    pub fn for_device(client: &Client, shape: Shape) -> RmsNormBlock {
        let (units_per_row, rows_per_cube) = team_of(KERNEL, client, shape.width);
        RmsNormBlock {
            units_per_row,
            rows_per_cube,
            backward_cubes: compute_units(client),
        }
    }

    /// Cubes that the backward kernel runs: no more than there are rows to give them.
    fn backward_cubes(&self, shape: Shape) -> usize {
        let needed = shape.rows.div_ceil(self.rows_per_cube.max(1));
        self.backward_cubes.clamp(1, needed.clamp(1, MOST_CUBES))
    }
}

/// Contiguous buffers of the forward pass: `x` and `y` are `[rows, width]`, `weight` is `[width]`.
pub struct Forward<'a> {
    pub x: &'a Handle,
    pub weight: &'a Handle,
    pub y: &'a Handle,
}

/// Contiguous buffers of the backward pass, shaped as in [`Forward`].
pub struct Backward<'a> {
    pub x: &'a Handle,
    pub weight: &'a Handle,
    pub y_gradient: &'a Handle,
    /// A gradient that reaches x on another path and is added to `x_gradient`.
    pub passed: Option<&'a Handle>,
    pub x_gradient: &'a Handle,
    pub weight_gradient: &'a Handle,
    /// Scratch memory, [`workspace_bytes`] long.
    pub workspace: &'a Handle,
}

/// Normalises every row: one launch.
pub fn forward(
    client: &Client,
    buffers: Forward<'_>,
    shape: Shape,
    epsilon: f32,
    dtypes: Dtypes,
    block: &RmsNormBlock,
) -> Result<(), KernelError> {
    let elements = check_shape(KERNEL, shape, dtypes)?;
    check_buffer(KERNEL, "x", buffers.x, elements, dtypes.activation)?;
    check_buffer(KERNEL, "weight", buffers.weight, shape.width, dtypes.weight)?;
    check_buffer(KERNEL, "y", buffers.y, elements, dtypes.activation)?;
    let team = Team::new(KERNEL, client, block.units_per_row, block.rows_per_cube)?;
    let vector = vector_size(
        client,
        dtypes.activation,
        shape.width,
        &[
            (buffers.x, dtypes.activation),
            (buffers.weight, dtypes.weight),
            (buffers.y, dtypes.activation),
        ],
    );

    // SAFETY: the lengths were checked above, and the kernel stays within `rows` and `vectors`.
    unsafe {
        rmsnorm_forward::launch_unchecked(
            client,
            cube_count(client, shape.rows.div_ceil(team.rows)),
            team.cube_dim(),
            vector,
            buffer(buffers.x, elements, vector),
            buffer(buffers.weight, shape.width, vector),
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

/// Bytes of scratch memory that [`backward`] needs: one f32 row a team.
pub fn workspace_bytes(shape: Shape, block: &RmsNormBlock) -> usize {
    block.backward_cubes(shape) * block.rows_per_cube * shape.width * F32.size()
}

/// Gradients of x and of the weight: two launches.
pub fn backward(
    client: &Client,
    buffers: Backward<'_>,
    shape: Shape,
    epsilon: f32,
    dtypes: Dtypes,
    block: &RmsNormBlock,
) -> Result<(), KernelError> {
    let elements = check_shape(KERNEL, shape, dtypes)?;
    let passed = buffers.passed.unwrap_or(buffers.y_gradient);
    for (name, handle) in [
        ("x", buffers.x),
        ("y_gradient", buffers.y_gradient),
        ("passed", passed),
        ("x_gradient", buffers.x_gradient),
    ] {
        check_buffer(KERNEL, name, handle, elements, dtypes.activation)?;
    }
    check_buffer(KERNEL, "weight", buffers.weight, shape.width, dtypes.weight)?;
    check_buffer(
        KERNEL,
        "weight_gradient",
        buffers.weight_gradient,
        shape.width,
        dtypes.weight,
    )?;
    let team = Team::new(KERNEL, client, block.units_per_row, block.rows_per_cube)?;
    let cubes = block.backward_cubes(shape);
    let partial_rows = cubes * team.rows;
    let partial_elements = check_elements(KERNEL, &[partial_rows, shape.width])?;
    check_buffer(
        KERNEL,
        "workspace",
        buffers.workspace,
        partial_elements,
        F32,
    )?;

    let vector = vector_size(
        client,
        dtypes.activation,
        shape.width,
        &[
            (buffers.x, dtypes.activation),
            (buffers.weight, dtypes.weight),
            (buffers.y_gradient, dtypes.activation),
            (passed, dtypes.activation),
            (buffers.x_gradient, dtypes.activation),
            (buffers.workspace, F32),
        ],
    );
    let passed = match buffers.passed {
        Some(handle) => unsafe { buffer(handle, elements, vector) },
        // Not read; bound as an alias of y_gradient because every argument needs a buffer.
        None => BufferArg::alias(2, elements / vector),
    };

    // SAFETY: the lengths were checked above, and the kernels stay within `rows`, `vectors` and `width`.
    unsafe {
        rmsnorm_backward::launch_unchecked(
            client,
            CubeCount::new_1d(cubes as u32),
            team.cube_dim(),
            vector,
            buffer(buffers.x, elements, vector),
            buffer(buffers.weight, shape.width, vector),
            buffer(buffers.y_gradient, elements, vector),
            passed,
            buffer(buffers.x_gradient, elements, vector),
            buffer(buffers.workspace, partial_elements, vector),
            shape.rows as u32,
            epsilon,
            shape.width / vector,
            team,
            buffers.passed.is_some(),
            dtypes.activation,
            dtypes.weight,
        );
    }
    sum_columns(
        client,
        buffers.workspace,
        buffers.weight_gradient,
        partial_rows,
        shape.width,
        dtypes.weight,
    );
    Ok(())
}

/// Adds up the rows of `partials` into `sums`: one launch.
fn sum_columns(
    client: &Client,
    partials: &Handle,
    sums: &Handle,
    rows: usize,
    width: usize,
    dtype: ElemType,
) {
    let limit = client.properties().hardware.max_units_per_cube as usize;
    let lanes = 1usize << (limit.min(1024) / SUM_COLUMNS).max(1).ilog2();
    // SAFETY: the callers checked both buffers against these lengths.
    unsafe {
        column_sums::launch_unchecked(
            client,
            cube_count(client, width.div_ceil(SUM_COLUMNS)),
            CubeDim::new_2d(SUM_COLUMNS as u32, lanes as u32),
            buffer(partials, rows * width, 1),
            buffer(sums, width, 1),
            rows as u32,
            width as u32,
            SUM_COLUMNS,
            lanes,
            dtype,
        );
    }
}

pub(crate) fn check_shape(
    kernel: &'static str,
    shape: Shape,
    dtypes: Dtypes,
) -> Result<usize, KernelError> {
    check_float(kernel, dtypes.activation)?;
    check_float(kernel, dtypes.weight)?;
    if shape.rows == 0 || shape.width == 0 {
        let reason = format!("{shape:?} has nothing to normalise");
        return Err(KernelError::Shape { kernel, reason });
    }
    check_elements(kernel, &[shape.rows, shape.width])
}
