//! The host side: buffers, launches.

use cubecl::{prelude::*, server::Handle};

use tinyllama_kernel_catalog::rmsnorm::{RmsNormBlock, Shape};

use super::kernels::add_rmsnorm_forward;
use super::workload::NAME;
use crate::{
    KernelError,
    launch::{Buffer, cube_count, vector_size},
    rmsnorm::{Dtypes, check_input},
    team::Team,
};

/// Adds and normalises every row, one launch: all are contiguous and `[rows, width]` but `weight`, `[width]`. `sum` is where
/// the sum goes; `None` adds x to `residual` in place.
pub fn forward(
    client: &Client,
    [x, residual, weight, y]: [&Handle; 4],
    sum: Option<&Handle>,
    shape: Shape,
    epsilon: f32,
    dtypes: Dtypes,
    block: &RmsNormBlock,
) -> Result<(), KernelError> {
    let elements = check_input(NAME, shape, dtypes)?;
    let rows = |name, handle| Buffer::new(NAME, name, handle, elements, dtypes.activation);
    let in_place = sum.is_none();
    let sum = rows("sum", sum.unwrap_or(residual))?;
    let [x, residual, y] = [rows("x", x)?, rows("residual", residual)?, rows("y", y)?];
    let weight = Buffer::new(NAME, "weight", weight, shape.width, dtypes.weight)?;
    let team = Team::new(NAME, client, block.team)?;
    let all = [x, residual, weight, sum, y];
    let vector = vector_size(client, dtypes.activation, shape.width, &all);
    let count = cube_count(client, shape.rows.div_ceil(team.rows));
    let sum = sum.or_alias(!in_place, 1, vector);
    // SAFETY: the buffers hold what the shape says, and the kernel stays within `rows` and `vectors`.
    launch!(client, add_rmsnorm_forward[count, team.cube_dim()], vector: [x residual weight (sum) y],
        shape.rows as u32, epsilon, shape.width / vector, team, dtypes.activation, dtypes.weight)
}
