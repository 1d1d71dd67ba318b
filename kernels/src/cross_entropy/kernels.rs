//! The kernels, which run on the device.

use cubecl::{ir::ElemType, prelude::*};

use crate::team::{Team, load_row_inside, store_row, team_max, team_sum, vector_sum};

/// One team handles a row: its loss, and `scale` times its gradient.
#[cube(launch_unchecked)]
pub fn cross_entropy_rows<F: Float, I: Int, N: Size>(
    logits: &[Vector<F, N>],
    targets: &[I],
    losses: &mut [f32],
    gradient: &mut [Vector<F, N>],
    rows: u32,
    scale: f32,
    #[comptime] vectors: usize,
    #[comptime] team: Team,
    #[define(F)] _dtype: ElemType,
    #[define(I)] _target_dtype: ElemType,
) {
    let steps = comptime!(vectors.div_ceil(team.units));
    let row = CUBE_POS * team.rows + UNIT_POS_Y as usize;
    let inside = row < rows as usize;
    // Teams past the end hold zeros, so that all reach the reductions, and write nothing.
    let read = min(row, rows as usize - 1);
    let start = read * vectors;
    let target = u32::cast_from(targets[read]) as usize;
    let values = load_row_inside::<F, N>(logits, start, inside, vectors, team.units);

    // The two stay separate, because their sum in f32 would lose digits if logits are large.
    let largest = row_max::<N>(&values, vectors, team);
    let sum = row_exp_sum::<N>(&values, largest, vectors, team);
    if inside {
        own_loss::<N>(
            &values,
            losses,
            row,
            target,
            largest,
            sum.ln(),
            vectors,
            team.units,
        );
    }
    let mut slope = Array::<Vector<f32, N>>::new(steps);
    #[unroll]
    for step in 0..steps {
        let first = (UNIT_POS_X as usize + comptime!(step * team.units)) * N::value();
        let exponentials = (values[step] - Vector::new(largest)).exp();
        let softmax = exponentials / Vector::new(sum);
        slope[step] = vector_slope::<N>(softmax, first, target, scale, vectors);
    }
    if inside {
        store_row::<F, N>(&slope, gradient, start, vectors, team.units);
    }
}

/// Computes the mean of `values` in one cube; each unit adds every `units`-th value.
#[cube(launch_unchecked)]
pub fn mean_of(values: &[f32], mean: &mut [f32], count: u32, #[comptime] team: Team) {
    let mut total = 0.0f32;
    for index in range_stepped(UNIT_POS_X as usize, count as usize, team.units) {
        total += values[index];
    }
    let total = team_sum(total, team);
    if UNIT_POS_X == 0 {
        mean[0] = total / count as f32;
    }
}

/// Returns the largest logit of the team's row to every unit.
#[cube]
fn row_max<N: Size>(
    row: &Array<Vector<f32, N>>,
    #[comptime] vectors: usize,
    #[comptime] team: Team,
) -> f32 {
    let mut largest = f32::new(f32::MIN);
    #[unroll]
    for step in 0..comptime!(vectors.div_ceil(team.units)) {
        if in_row(step, vectors, team.units) {
            #[unroll]
            for lane in 0..N::value() {
                largest = max(largest, row[step].extract(lane));
            }
        }
    }
    team_max(largest, team)
}

/// Returns Σ exp(logit - largest) of the team's row to every unit.
#[cube]
fn row_exp_sum<N: Size>(
    row: &Array<Vector<f32, N>>,
    largest: f32,
    #[comptime] vectors: usize,
    #[comptime] team: Team,
) -> f32 {
    let mut sum = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for step in 0..comptime!(vectors.div_ceil(team.units)) {
        if in_row(step, vectors, team.units) {
            sum += (row[step] - Vector::new(largest)).exp();
        }
    }
    team_sum(vector_sum(sum), team)
}

/// Returns whether this unit's vector number `step` lies within the row.
#[cube]
fn in_row(#[comptime] step: usize, #[comptime] vectors: usize, #[comptime] units: usize) -> bool {
    comptime!((step + 1) * units <= vectors)
        || UNIT_POS_X as usize + comptime!(step * units) < vectors
}

/// The unit that holds the target's logit writes the loss. Unit 0 writes NaN if no unit holds it.
#[cube]
fn own_loss<N: Size>(
    values: &Array<Vector<f32, N>>,
    losses: &mut [f32],
    row: usize,
    target: usize,
    largest: f32,
    log_sum: f32,
    #[comptime] vectors: usize,
    #[comptime] units: usize,
) {
    #[unroll]
    for step in 0..comptime!(vectors.div_ceil(units)) {
        let first = (UNIT_POS_X as usize + comptime!(step * units)) * N::value();
        #[unroll]
        for lane in 0..N::value() {
            if first + lane == target && target < vectors * N::value() {
                losses[row] = log_sum + (largest - values[step].extract(lane));
            }
        }
    }
    if UNIT_POS_X == 0 && target >= vectors * N::value() {
        losses[row] = f32::NAN;
    }
}

/// Computes `(softmax - onehot) · scale` of consecutive classes from `first` on.
#[cube]
fn vector_slope<N: Size>(
    softmax: Vector<f32, N>,
    first: usize,
    target: usize,
    scale: f32,
    #[comptime] vectors: usize,
) -> Vector<f32, N> {
    let scale = select(target < vectors * N::value(), scale, f32::NAN);
    let mut slope = softmax * Vector::new(scale);
    #[unroll]
    for lane in 0..N::value() {
        if first + lane == target {
            slope.insert(lane, slope.extract(lane) - scale);
        }
    }
    slope
}
