//! The kernels against the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use super::{
    Backward, Dtypes, Forward, KERNEL, RmsNormBlock, Shape, backward, forward, reference_backward,
    reference_forward, workspace_bytes,
};
use crate::{
    KernelError,
    check::{Check, Trial},
    launch::F32,
    team::OTHER_TEAMS,
};

/// The shapes that [`check`] runs, with their epsilon. A row of one element would cancel to rounding noise under the
/// usual epsilon, so that one has a large one.
const CASES: [(Shape, f32); 6] = [
    (Shape { rows: 1, width: 1 }, 0.5),
    (Shape { rows: 7, width: 3 }, 1e-5),
    (
        Shape {
            rows: 129,
            width: 96,
        },
        1e-5,
    ),
    (
        Shape {
            rows: 7,
            width: 777,
        },
        1e-5,
    ),
    (
        Shape {
            rows: 129,
            width: 256,
        },
        1e-5,
    ),
    (
        Shape {
            rows: 7,
            width: 4096,
        },
        1e-5,
    ),
];

/// Both passes against the reference on fresh inputs, also with teams of every kind.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let mut checks = Vec::new();
    for (shape, epsilon) in CASES {
        for (passed, weight) in [(false, dtype), (true, F32)] {
            let dtypes = Dtypes {
                activation: dtype,
                weight,
            };
            let block = RmsNormBlock::for_device(client, shape);
            checks.extend(check_case(
                client, shape, epsilon, passed, dtypes, block, seed,
            )?);
        }
    }
    for (units_per_row, rows_per_cube) in OTHER_TEAMS {
        let shape = Shape {
            rows: 129,
            width: 96,
        };
        let dtypes = Dtypes {
            activation: dtype,
            weight: dtype,
        };
        let block = RmsNormBlock {
            units_per_row,
            rows_per_cube,
            backward_cubes: 3,
        };
        checks.extend(check_case(client, shape, 1e-5, false, dtypes, block, seed)?);
    }
    Ok(checks)
}

fn check_case(
    client: &Client,
    shape: Shape,
    epsilon: f32,
    passed: bool,
    dtypes: Dtypes,
    block: RmsNormBlock,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    let Shape { rows, width } = shape;
    let case = format!(
        "{rows}x{width}{} units {} rows {}",
        if passed { " +passed" } else { "" },
        block.units_per_row,
        block.rows_per_cube
    );
    let mut trial = Trial::new(client, KERNEL, case, dtypes.activation, seed);
    let (x, x_handle) = trial.input(rows * width, 0.0);
    let (weight, weight_handle) = trial.input_of(width, 1.0, dtypes.weight);
    let (dy, dy_handle) = trial.input(rows * width, 0.0);
    let (other, other_handle) = trial.input(rows * width, 0.0);

    let y = trial.output(rows * width);
    let buffers = Forward {
        x: &x_handle,
        weight: &weight_handle,
        y: &y,
    };
    forward(client, buffers, shape, epsilon, dtypes, &block)?;
    trial.compare("y", y, &reference_forward(&x, &weight, f64::from(epsilon)))?;

    let dx = trial.output(rows * width);
    let dw = trial.output_of(width, dtypes.weight);
    let workspace = trial.output_of(workspace_bytes(shape, &block) / F32.size(), F32);
    let buffers = Backward {
        x: &x_handle,
        weight: &weight_handle,
        y_gradient: &dy_handle,
        passed: passed.then_some(&other_handle),
        x_gradient: &dx,
        weight_gradient: &dw,
        workspace: &workspace,
    };
    backward(client, buffers, shape, epsilon, dtypes, &block)?;
    let (mut expected, expected_dw) = reference_backward(&x, &weight, &dy, f64::from(epsilon));
    if passed {
        expected
            .iter_mut()
            .zip(&other)
            .for_each(|(dx, other)| *dx += other);
    }
    trial.compare("x_gradient", dx, &expected)?;
    trial.compare_of("weight_gradient", dw, &expected_dw, dtypes.weight)?;
    Ok(trial.finish())
}
