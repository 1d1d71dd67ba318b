//! The kernels against the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use super::{Backward, Forward, KERNEL, backward, forward, reference_backward, reference_forward};
use crate::{
    KernelError,
    check::{Check, Trial},
    launch::F32,
    rmsnorm::{self, Dtypes, RmsNormBlock, Shape},
};

const CASES: [(Shape, f32); 4] = [
    (Shape { rows: 1, width: 1 }, 0.5),
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
    (Shape { rows: 7, width: 3 }, 1e-5),
];

/// Both passes, in place and not, against the reference on fresh inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let mut checks = Vec::new();
    for (shape, epsilon) in CASES {
        checks.extend(check_case(client, shape, epsilon, dtype, seed)?);
    }
    Ok(checks)
}

fn check_case(
    client: &Client,
    shape: Shape,
    epsilon: f32,
    dtype: ElemType,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    let Shape { rows, width } = shape;
    let count = rows * width;
    let dtypes = Dtypes {
        activation: dtype,
        weight: dtype,
    };
    let block = RmsNormBlock::for_device(client, shape);
    let mut trial = Trial::new(client, KERNEL, format!("{rows}x{width}"), dtype, seed);
    let (x, x_handle) = trial.input(count, 0.0);
    let (residual, residual_handle) = trial.input(count, 0.0);
    let (weight, weight_handle) = trial.input(width, 1.0);
    let (passed, passed_handle) = trial.input(count, 0.0);
    let (dy, dy_handle) = trial.input(count, 0.0);
    let (expected_sum, expected_y) = reference_forward(&x, &residual, &weight, f64::from(epsilon));

    let (sum, y) = (trial.output(count), trial.output(count));
    let buffers = Forward {
        x: &x_handle,
        residual: &residual_handle,
        weight: &weight_handle,
        sum: Some(&sum),
        y: &y,
    };
    forward(client, buffers, shape, epsilon, dtypes, &block)?;
    trial.compare("y", y, &expected_y)?;

    let (gradient, dw) = (trial.output(count), trial.output(width));
    let workspace = trial.output_of(rmsnorm::workspace_bytes(shape, &block) / F32.size(), F32);
    let buffers = Backward {
        sum: &sum,
        weight: &weight_handle,
        sum_gradient: &passed_handle,
        y_gradient: &dy_handle,
        gradient: &gradient,
        weight_gradient: &dw,
        workspace: &workspace,
    };
    backward(client, buffers, shape, epsilon, dtypes, &block)?;
    // From the sum that the kernel read: where `passed` and the norm's gradient cancel, its rounding counts many times.
    let stored_sum = trial.read(sum.clone(), count, dtype)?;
    let (expected_gradient, expected_dw) =
        reference_backward(&stored_sum, &weight, &passed, &dy, f64::from(epsilon));
    trial.compare("sum", sum, &expected_sum)?;
    trial.compare("gradient", gradient, &expected_gradient)?;
    trial.compare("weight_gradient", dw, &expected_dw)?;

    let y = trial.output(count);
    let buffers = Forward {
        x: &x_handle,
        residual: &residual_handle,
        weight: &weight_handle,
        sum: None,
        y: &y,
    };
    forward(client, buffers, shape, epsilon, dtypes, &block)?;
    trial.compare("residual in place", residual_handle, &expected_sum)?;
    trial.compare("y, in place", y, &expected_y)?;
    Ok(trial.finish())
}
