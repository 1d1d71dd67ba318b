//! The kernels, which run on the device.

use cubecl::{ir::ElemType, prelude::*};

use crate::team::{Team, load_row, partial_dot, store_row, team_sum};

/// One team handles a row.
#[cube(launch_unchecked)]
pub fn rmsnorm_forward<F: Float, W: Float, N: Size>(
    x: &[Vector<F, N>],
    weight: &[Vector<W, N>],
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
    // Teams past the end read the last row, so that all reach the reductions, and write nothing.
    let start = min(row, rows as usize - 1) * vectors;

    let mut values = load_row::<F, N>(x, start, vectors, team.units);
    normalize::<W, N>(&mut values, weight, epsilon, vectors, team);
    if inside {
        store_row::<F, N>(&values, y, start, vectors, team.units);
    }
}

/// Scales a row in registers by its inverse root mean square and the weight.
#[cube]
pub fn normalize<W: Float, N: Size>(
    row: &mut Array<Vector<f32, N>>,
    weight: &[Vector<W, N>],
    epsilon: f32,
    #[comptime] vectors: usize,
    #[comptime] team: Team,
) {
    let steps = comptime!(vectors.div_ceil(team.units));
    let weight = load_row::<W, N>(weight, 0, vectors, team.units);
    let squares = team_sum(partial_dot::<N>(&*row, &*row, steps), team);
    let width = comptime!(vectors as f32) * N::value() as f32;
    let scale = Vector::new((squares / width + epsilon).inverse_sqrt());
    #[unroll]
    for step in 0..steps {
        row[step] = row[step] * scale * weight[step];
    }
}

/// Each team handles every `teams`-th row and writes its share of the weight's gradient to one row of `partials`,
/// `[teams, width]`. With `residual`, `passed` is added to dx: the gradient that reaches the same tensor on another
/// path.
#[cube(launch_unchecked)]
pub fn rmsnorm_backward<F: Float, W: Float, N: Size>(
    x: &[Vector<F, N>],
    weight: &[Vector<W, N>],
    y_gradient: &[Vector<F, N>],
    passed: &[Vector<F, N>],
    x_gradient: &mut [Vector<F, N>],
    partials: &mut [Vector<f32, N>],
    rows: u32,
    epsilon: f32,
    #[comptime] vectors: usize,
    #[comptime] team: Team,
    #[comptime] residual: bool,
    #[define(F)] _dtype: ElemType,
    #[define(W)] _weight_dtype: ElemType,
) {
    let steps = comptime!(vectors.div_ceil(team.units));
    let width = comptime!(vectors as f32) * N::value() as f32;
    let rows = rows as usize;
    let teams = CUBE_COUNT * team.rows;
    let own = CUBE_POS * team.rows + UNIT_POS_Y as usize;

    let weight = load_row::<W, N>(weight, 0, vectors, team.units);
    let mut sum = Array::<Vector<f32, N>>::new(steps);
    #[unroll]
    for step in 0..steps {
        sum[step] = Vector::new(0.0f32);
    }

    // Every team makes the same number of rounds, because all units of a cube must reach the reductions.
    for round in 0..rows.div_ceil(teams) {
        let row = round * teams + own;
        let start = min(row, rows - 1) * vectors;
        let values = load_row::<F, N>(x, start, vectors, team.units);
        let dy = load_row::<F, N>(y_gradient, start, vectors, team.units);
        let mut scaled = Array::<Vector<f32, N>>::new(steps);
        #[unroll]
        for step in 0..steps {
            scaled[step] = dy[step] * weight[step];
        }
        let squares = team_sum(partial_dot::<N>(&values, &values, steps), team);
        let dot = team_sum(partial_dot::<N>(&values, &scaled, steps), team);
        let scale = (squares / width + epsilon).inverse_sqrt();
        let pull = Vector::new(scale * scale * scale * dot / width);
        let scale = Vector::new(scale);
        if row < rows {
            #[unroll]
            for step in 0..steps {
                sum[step] += dy[step] * values[step] * scale;
                scaled[step] = scaled[step] * scale - values[step] * pull;
            }
            if comptime!(residual) {
                let passed = load_row::<F, N>(passed, start, vectors, team.units);
                #[unroll]
                for step in 0..steps {
                    scaled[step] += passed[step];
                }
            }
            store_row::<F, N>(&scaled, x_gradient, start, vectors, team.units);
        }
    }
    store_row::<f32, N>(&sum, partials, own * vectors, vectors, team.units);
}

/// Sums the rows of `partials`, `[rows, width]`, column by column. A cube takes `SUM_COLUMNS` columns. Its `lanes`
/// units per column take every `lanes`-th row, then a tree adds their sums.
#[cube(launch_unchecked)]
pub fn column_sums<W: Float>(
    partials: &[f32],
    sums: &mut [W],
    rows: u32,
    width: u32,
    #[comptime] columns: usize,
    #[comptime] lanes: usize,
    #[define(W)] _dtype: ElemType,
) {
    let column = CUBE_POS * columns + UNIT_POS_X as usize;
    let lane = UNIT_POS_Y as usize;
    let mut total = 0.0f32;
    if column < width as usize {
        for row in range_stepped(lane, rows as usize, lanes) {
            total += partials[row * width as usize + column];
        }
    }

    let mut shared = Shared::<[f32]>::new_slice(comptime!(columns * lanes));
    let place = UNIT_POS_X as usize;
    shared[lane * columns + place] = total;
    sync_cube();
    #[unroll]
    for level in 0..comptime!(lanes.ilog2()) {
        let half = comptime!(lanes >> (level + 1));
        if lane < half {
            let other = shared[(lane + half) * columns + place];
            shared[lane * columns + place] += other;
        }
        sync_cube();
    }
    if lane == 0 && column < width as usize {
        sums[column] = W::cast_from(shared[place]);
    }
}
