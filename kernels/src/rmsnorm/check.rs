//! Compares the kernels with the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use tinyllama_kernel_catalog::rmsnorm::{
    RmsNormBlock, RmsNormShape, reference_backward, reference_forward,
};

use super::NAME;
use super::launch::choose_block;
use super::workload::{RmsNormTypes, launcher};
use crate::{
    KernelError,
    check::{KernelTrial, OutputCheck},
    launch::F32,
    team::OTHER_TEAMS,
};

/// Rows, width and epsilon. With the usual epsilon, a row of one element would cancel to rounding noise, so that case
/// has a large one.
const CASES: [(usize, usize, f32); 6] = [
    (1, 1, 0.5),
    (7, 3, 1e-5),
    (129, 96, 1e-5),
    (7, 777, 1e-5),
    (129, 256, 1e-5),
    (7, 4096, 1e-5),
];

/// Compares both passes with the reference on new inputs, also with teams of every kind.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let mut checks = Vec::new();
    let mut case = |shape: RmsNormShape, epsilon, passed, weight, block: RmsNormBlock| {
        let RmsNormShape { rows, width } = shape;
        let with = if passed { " +passed" } else { "" };
        let (units, teams) = (block.team.units_per_row, block.team.rows_per_cube);
        let case = format!("{rows}x{width}{with} units {units} rows {teams}");
        let dtypes = RmsNormTypes {
            activation: dtype,
            weight,
        };
        let mut trial = KernelTrial::new(client, NAME, case, dtype, seed);
        let launch = launcher(&mut trial, shape, dtypes, epsilon, passed, block);
        launch("forward")?;
        launch("backward")?;
        let values = |name| trial.values(name);
        let (x, weight) = (values("x"), values("weight"));
        let y = reference_forward(x, weight, f64::from(epsilon));
        let (mut dx, dw) = reference_backward(x, weight, values("y_gradient"), f64::from(epsilon));
        for (dx, passed) in dx.iter_mut().zip(values("passed")) {
            *dx += passed;
        }
        trial.compare("y", &y)?;
        trial.compare("x_gradient", &dx)?;
        trial.compare("weight_gradient", &dw)?;
        checks.extend(trial.finish());
        Ok(())
    };
    for (rows, width, epsilon) in CASES {
        let shape = RmsNormShape { rows, width };
        let block = choose_block(client, shape, None);
        case(shape, epsilon, false, dtype, block)?;
        case(shape, epsilon, true, F32, block)?;
    }
    for team in OTHER_TEAMS {
        let shape = RmsNormShape {
            rows: 129,
            width: 96,
        };
        let block = RmsNormBlock {
            team,
            backward_cubes: 3,
        };
        case(shape, 1e-5, false, dtype, block)?;
    }
    Ok(checks)
}
