//! Block sizes, buffers and launches on the host.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use tinyllama_kernel_catalog::rmsnorm::{RmsNormBlock, RmsNormShape};

use super::NAME;
use super::kernels;
use super::workload::RmsNormTypes;
use crate::{
    KernelError,
    launch::{
        CheckedBuffer, F32, check_elements, check_shape, compute_units, cube_count, vector_size,
    },
    team::{Team, team_block},
};

/// Number of cubes along one dimension that every runtime accepts.
const MOST_CUBES: usize = 65_535;

/// Columns that one cube of [`kernels::column_sums`] sums: one 128-byte line of f32.
const SUM_COLUMNS: usize = 32;

/// Returns the chosen block, or the one that suits this device and shape.
pub fn choose_block(client: &Client, shape: RmsNormShape, chosen: Option<usize>) -> RmsNormBlock {
    RmsNormBlock {
        team: team_block(NAME, client, shape.width, chosen),
        backward_cubes: compute_units(client),
    }
}

/// Returns the cubes of the backward kernel: no more than there are rows for them.
fn backward_cubes(block: &RmsNormBlock, shape: RmsNormShape) -> usize {
    let needed = shape.rows.div_ceil(block.team.rows_per_cube.max(1));
    block.backward_cubes.clamp(1, needed.clamp(1, MOST_CUBES))
}

/// Normalises every row of `x` into `y`, `[rows, width]`, with a weight of `[width]`, all contiguous, in one launch.
pub fn forward(
    client: &Client,
    [x, weight, y]: [&Handle; 3],
    shape: RmsNormShape,
    epsilon: f32,
    dtypes: RmsNormTypes,
    block: &RmsNormBlock,
) -> Result<(), KernelError> {
    let elements = check_input(NAME, shape, dtypes)?;
    let rows = |name, handle| CheckedBuffer::new(NAME, name, handle, elements, dtypes.activation);
    let x = rows("x", x)?;
    let weight = CheckedBuffer::new(NAME, "weight", weight, shape.width, dtypes.weight)?;
    let y = rows("y", y)?;
    let team = Team::new(NAME, client, block.team)?;
    let vector = vector_size(client, dtypes.activation, shape.width, &[x, weight, y]);
    let count = cube_count(client, shape.rows.div_ceil(team.rows));
    // SAFETY: the buffers match the shape, and the kernel stays within `rows` and `vectors`.
    launch!(client, kernels::rmsnorm_forward[count, team.cube_dim()], vector: [x weight y],
        shape.rows as u32, epsilon, shape.width / vector, team, dtypes.activation, dtypes.weight)
}

/// Returns the number of f32 that [`backward`] needs as scratch memory: one row per team.
pub fn workspace(shape: RmsNormShape, block: &RmsNormBlock) -> usize {
    backward_cubes(block, shape) * block.team.rows_per_cube * shape.width
}

/// Computes the gradients of x and of the weight in two launches, with scratch memory for [`workspace`] f32. `passed`
/// is a gradient that reaches x on another path and is added.
pub fn backward(
    client: &Client,
    [
        x,
        weight,
        y_gradient,
        x_gradient,
        weight_gradient,
        workspace,
    ]: [&Handle; 6],
    passed: Option<&Handle>,
    shape: RmsNormShape,
    epsilon: f32,
    dtypes: RmsNormTypes,
    block: &RmsNormBlock,
) -> Result<(), KernelError> {
    let elements = check_input(NAME, shape, dtypes)?;
    let rows = |name, handle| CheckedBuffer::new(NAME, name, handle, elements, dtypes.activation);
    let columns = |name, handle| CheckedBuffer::new(NAME, name, handle, shape.width, dtypes.weight);
    let is_passed = passed.is_some();
    let passed = rows("passed", passed.unwrap_or(y_gradient))?;
    let [x, y_gradient] = [rows("x", x)?, rows("y_gradient", y_gradient)?];
    let x_gradient = rows("x_gradient", x_gradient)?;
    let weight = columns("weight", weight)?;
    let weight_gradient = columns("weight_gradient", weight_gradient)?;
    let team = Team::new(NAME, client, block.team)?;
    let cubes = backward_cubes(block, shape);
    let partials = check_elements(NAME, &[cubes * team.rows, shape.width])?;
    let workspace = CheckedBuffer::new(NAME, "workspace", workspace, partials, F32)?;
    let all = [x, weight, y_gradient, passed, x_gradient, workspace];
    let vector = vector_size(client, dtypes.activation, shape.width, &all);
    // Without `passed` the argument is not read. It is an alias of y_gradient, because every argument needs a buffer.
    let passed = passed.or_alias(is_passed, 2, vector);
    // SAFETY: the buffers match the shape, and the kernel stays within `rows` and `vectors`.
    launch!(client, kernels::rmsnorm_backward[CubeCount::new_1d(cubes as u32), team.cube_dim()], vector:
        [x weight y_gradient (passed) x_gradient workspace],
        shape.rows as u32, epsilon, shape.width / vector, team, is_passed, dtypes.activation, dtypes.weight)?;
    let limit = client.properties().hardware.max_units_per_cube as usize;
    let lanes = 1usize << (limit.min(1024) / SUM_COLUMNS).max(1).ilog2();
    let dim = CubeDim::new_2d(SUM_COLUMNS as u32, lanes as u32);
    let count = cube_count(client, shape.width.div_ceil(SUM_COLUMNS));
    // SAFETY: as above; the kernel stays within the rows of the workspace and `width`.
    launch!(client, kernels::column_sums[count, dim]: [workspace weight_gradient],
        (cubes * team.rows) as u32, shape.width as u32, SUM_COLUMNS, lanes, dtypes.weight)
}

/// Refuses shapes and types for which the kernels have no code; otherwise returns the number of elements.
pub(crate) fn check_input(
    kernel: &'static str,
    shape: RmsNormShape,
    dtypes: RmsNormTypes,
) -> Result<usize, KernelError> {
    let floats: [ElemType; 2] = [dtypes.activation, dtypes.weight];
    check_shape(kernel, &[shape.rows, shape.width], &floats)
}
