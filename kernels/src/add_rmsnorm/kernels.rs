//! The device side.

use cubecl::{ir::ElemType, prelude::*};

use crate::{
    rmsnorm::normalize,
    team::{Team, load_row_inside, store_row},
};

/// One team a row.
#[cube(launch_unchecked)]
pub fn add_rmsnorm_forward<F: Float, W: Float, N: Size>(
    x: &[Vector<F, N>],
    residual: &[Vector<F, N>],
    weight: &[Vector<W, N>],
    sum: &mut [Vector<F, N>],
    y: &mut [Vector<F, N>],
    rows: u32,
    epsilon: f32,
    #[comptime] vectors: usize,
    #[comptime] team: Team,
    #[define(F)] _dtype: ElemType,
    #[define(W)] _weight_dtype: ElemType,
) {
    let row = CUBE_POS * team.rows + UNIT_POS_Y as usize;
    let inside = row < rows as usize;
    // Teams past the end hold zeros, so that all reach the reductions, and write nothing. They must not read the last row
    // instead: its team may be overwriting it.
    let start = min(row, rows as usize - 1) * vectors;

    let mut values = load_row_inside::<F, N>(x, start, inside, vectors, team.units);
    let other = load_row_inside::<F, N>(residual, start, inside, vectors, team.units);
    #[unroll]
    for step in 0..comptime!(vectors.div_ceil(team.units)) {
        // Rounded as it will be stored: the backward pass normalises what was stored.
        let rounded = Vector::<F, N>::cast_from(values[step] + other[step]);
        values[step] = Vector::cast_from(rounded);
    }
    if inside {
        store_row::<F, N>(&values, sum, start, vectors, team.units);
    }
    normalize::<W, N>(&mut values, weight, epsilon, vectors, team);
    if inside {
        store_row::<F, N>(&values, y, start, vectors, team.units);
    }
}
