//! A team of units handles a row and computes its sums and maxima together.
//!
//! A cube is `units` wide and `rows` high: `UNIT_POS_Y` selects the row, `UNIT_POS_X` the place in the team. If a plane
//! (warp, wavefront) is exactly one team, a reduction is a few shuffles. If a team spans several planes, they exchange
//! results in shared memory. If planes cannot be used, a tree in shared memory does the whole reduction.

use cubecl::prelude::*;
use tinyllama_kernel_catalog::block::TeamBlock;

use crate::{KernelError, launch::plane_size, tunables};

/// How the units of a cube share rows; known when the kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Team {
    /// Units that work on one row; a power of two.
    pub units: usize,
    /// Rows that a cube holds at a time.
    pub rows: usize,
    /// The plane size, or 0 if plane operations cannot be used.
    pub plane: usize,
}

impl Team {
    /// Returns the team for `block` on this device.
    pub fn new(
        kernel: &'static str,
        client: &Client,
        block: TeamBlock,
    ) -> Result<Team, KernelError> {
        let (units, rows) = (block.units_per_row, block.rows_per_cube);
        let limit = client.properties().hardware.max_units_per_cube as usize;
        let refuse = |reason: String| Err(KernelError::Block(kernel, reason));
        if !units.is_power_of_two() {
            return refuse(format!("{units} units per row is not a power of two"));
        }
        if rows == 0 {
            return refuse("a cube needs at least one row".to_string());
        }
        if units.saturating_mul(rows) > limit {
            return refuse(format!(
                "{units} units x {rows} rows is more than the {limit} units this device allows in a cube"
            ));
        }
        // A team narrower than a plane shares it with other rows, which the tree handles.
        let plane = plane_size(client).filter(|plane| units.is_multiple_of(*plane));
        Ok(Team {
            units,
            rows,
            plane: plane.unwrap_or(0),
        })
    }

    /// Returns the dimensions of a cube.
    pub fn cube_dim(&self) -> CubeDim {
        CubeDim::new_2d(self.units as u32, self.rows as u32)
    }
}

/// Default number of elements of a row that one unit holds in registers: four 16-byte vectors of f32, two of a 16-bit type.
const ELEMENTS_PER_UNIT: usize = 16;

/// Default units per cube: enough to fill a compute unit with few cubes, few enough to give every compute unit a cube.
const UNITS_PER_CUBE: usize = 128;

/// Returns a block for rows of `width` elements: the one chosen here, or for this process, or the one that suits this device.
pub fn team_block(kernel: &str, client: &Client, width: usize, chosen: Option<usize>) -> TeamBlock {
    let units_per_row =
        tunables::or_chosen(kernel, chosen).unwrap_or_else(|| default_team(client, width));
    TeamBlock::new(units_per_row, (UNITS_PER_CUBE / units_per_row).max(1))
}

/// Teams of every kind, for checks: a single unit; a team narrower than any plane, which takes the tree; and one of
/// several planes for every plane size. No device uses all of them by default.
pub const OTHER_TEAMS: [TeamBlock; 3] = [
    TeamBlock::new(1, 33),
    TeamBlock::new(4, 5),
    TeamBlock::new(128, 2),
];

/// Returns the team width for rows of `width` elements: at least one plane, at most the largest cube.
pub fn default_team(client: &Client, width: usize) -> usize {
    let limit = (client.properties().hardware.max_units_per_cube as usize).clamp(1, 1024);
    let widest = 1usize << limit.ilog2();
    let plane = plane_size(client).unwrap_or(32).min(widest);
    width
        .div_ceil(ELEMENTS_PER_UNIT)
        .next_power_of_two()
        .clamp(plane, widest)
}

/// Returns the sum of `value` over the team to each of its units. Every unit of the cube must call it.
#[cube]
pub fn team_sum(value: f32, #[comptime] team: Team) -> f32 {
    team_reduce(value, team, false)
}

/// Returns the maximum of `value` over the team to each of its units. Every unit of the cube must call it.
#[cube]
pub fn team_max(value: f32, #[comptime] team: Team) -> f32 {
    team_reduce(value, team, true)
}

#[cube]
fn team_reduce(value: f32, #[comptime] team: Team, #[comptime] maximum: bool) -> f32 {
    if comptime!(team.units == 1) {
        value
    } else if comptime!(team.plane == team.units) {
        plane_reduce(value, maximum)
    } else if comptime!(team.plane > 0) {
        planes_reduce(value, team, maximum)
    } else {
        tree_reduce(value, team, maximum)
    }
}

#[cube]
fn plane_reduce(value: f32, #[comptime] maximum: bool) -> f32 {
    if comptime!(maximum) {
        plane_max(value)
    } else {
        plane_sum(value)
    }
}

#[cube]
fn combine(left: f32, right: f32, #[comptime] maximum: bool) -> f32 {
    if comptime!(maximum) {
        max(left, right)
    } else {
        left + right
    }
}

/// Each plane writes one partial result; every unit then combines those of its team.
#[cube]
fn planes_reduce(value: f32, #[comptime] team: Team, #[comptime] maximum: bool) -> f32 {
    let planes = comptime!(team.units / team.plane);
    let mut partial = Shared::<[f32]>::new_slice(comptime!(team.rows * team.units / team.plane));
    let own = plane_reduce(value, maximum);
    let first = UNIT_POS_Y as usize * planes;
    // The next reduction reuses the shared slice, so all units must have finished reading the last one.
    sync_cube();
    if UNIT_POS_PLANE == 0 {
        partial[first + UNIT_POS_X as usize / comptime!(team.plane)] = own;
    }
    sync_cube();
    let mut total = partial[first];
    #[unroll]
    for other in 1..planes {
        total = combine(total, partial[first + other], maximum);
    }
    total
}

#[cube]
fn tree_reduce(value: f32, #[comptime] team: Team, #[comptime] maximum: bool) -> f32 {
    let mut partial = Shared::<[f32]>::new_slice(comptime!(team.rows * team.units));
    let first = UNIT_POS_Y as usize * comptime!(team.units);
    let place = UNIT_POS_X as usize;
    sync_cube();
    partial[first + place] = value;
    sync_cube();
    let levels = comptime!(team.units.ilog2());
    #[unroll]
    for level in 0..levels {
        let half = comptime!(team.units >> (level + 1));
        if place < half {
            partial[first + place] = combine(
                partial[first + place],
                partial[first + place + half],
                maximum,
            );
        }
        sync_cube();
    }
    partial[first]
}

/// Returns the sum of a vector's elements.
#[cube]
pub fn vector_sum<N: Size>(vector: Vector<f32, N>) -> f32 {
    let mut total = 0.0f32;
    #[unroll]
    for lane in 0..N::value() {
        total += vector.extract(lane);
    }
    total
}

/// Loads this unit's part of a row into registers: vectors `UNIT_POS_X`, `UNIT_POS_X + units`, and so on, so that
/// neighbouring units read neighbouring vectors. Elements past the end of the row are zero.
#[cube]
pub fn load_row<F: Float, N: Size>(
    source: &[Vector<F, N>],
    start: usize,
    #[comptime] vectors: usize,
    #[comptime] units: usize,
) -> Array<Vector<f32, N>> {
    let steps = comptime!(vectors.div_ceil(units));
    let mut row = Array::<Vector<f32, N>>::new(steps);
    #[unroll]
    for step in 0..steps {
        let place = UNIT_POS_X as usize + comptime!(step * units);
        row[step] = Vector::new(0.0f32);
        if comptime!((step + 1) * units <= vectors) || place < vectors {
            row[step] = Vector::cast_from(source[start + place]);
        }
    }
    row
}

/// As [`load_row`], but zeros if not `inside`: for a team past the last row, in a kernel that may write to its input.
#[cube]
pub fn load_row_inside<F: Float, N: Size>(
    source: &[Vector<F, N>],
    start: usize,
    inside: bool,
    #[comptime] vectors: usize,
    #[comptime] units: usize,
) -> Array<Vector<f32, N>> {
    let steps = comptime!(vectors.div_ceil(units));
    let mut row = Array::<Vector<f32, N>>::new(steps);
    #[unroll]
    for step in 0..steps {
        let place = UNIT_POS_X as usize + comptime!(step * units);
        row[step] = Vector::new(0.0f32);
        if inside && place < vectors {
            row[step] = Vector::cast_from(source[start + place]);
        }
    }
    row
}

/// Writes the elements that [`load_row`] would read.
#[cube]
pub fn store_row<F: Float, N: Size>(
    row: &Array<Vector<f32, N>>,
    target: &mut [Vector<F, N>],
    start: usize,
    #[comptime] vectors: usize,
    #[comptime] units: usize,
) {
    #[unroll]
    for step in 0..comptime!(vectors.div_ceil(units)) {
        let place = UNIT_POS_X as usize + comptime!(step * units);
        if comptime!((step + 1) * units <= vectors) || place < vectors {
            target[start + place] = Vector::cast_from(row[step]);
        }
    }
}

/// Returns this unit's share of the dot product of two rows.
#[cube]
pub fn partial_dot<N: Size>(
    left: &Array<Vector<f32, N>>,
    right: &Array<Vector<f32, N>>,
    #[comptime] steps: usize,
) -> f32 {
    let mut total = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for step in 0..steps {
        total += left[step] * right[step];
    }
    vector_sum(total)
}
