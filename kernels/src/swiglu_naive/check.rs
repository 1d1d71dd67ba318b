//! The kernels against the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use super::{Forward, KERNEL, Shape, SwigluNaiveBlock, forward, reference_forward};
use crate::{
    KernelError,
    check::{Check, Trial},
};

const CASES: [Shape; 3] = [
    Shape {
        rows: 1,
        width: 1,
        hidden: 1,
    },
    Shape {
        rows: 7,
        width: 3,
        hidden: 96,
    },
    Shape {
        rows: 129,
        width: 16,
        hidden: 24,
    },
];

/// The kernel against the reference on fresh inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let mut checks = Vec::new();
    for shape in CASES {
        checks.extend(check_case(client, shape, dtype, seed)?);
    }
    Ok(checks)
}

fn check_case(
    client: &Client,
    shape: Shape,
    dtype: ElemType,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    let block = SwigluNaiveBlock::for_device(client);
    let (xs, ws, ys) = (
        shape.rows * shape.width,
        shape.width * shape.hidden,
        shape.rows * shape.hidden,
    );
    let case = format!("{}x{}x{}", shape.rows, shape.width, shape.hidden);
    let mut trial = Trial::new(client, KERNEL, case, dtype, seed);
    let (x, x_handle) = trial.input(xs, 0.0);
    let (gate_weight, gate_weight_handle) = trial.input(ws, 0.0);
    let (up_weight, up_weight_handle) = trial.input(ws, 0.0);

    let (gate, up, y) = (trial.output(ys), trial.output(ys), trial.output(ys));
    let buffers = Forward {
        x: &x_handle,
        gate_weight: &gate_weight_handle,
        up_weight: &up_weight_handle,
        gate: &gate,
        up: &up,
        y: &y,
    };
    forward(client, buffers, shape, dtype, &block)?;
    let expected = reference_forward(&x, &gate_weight, &up_weight, shape);
    trial.compare("gate", gate, &expected.gate)?;
    trial.compare("up", up, &expected.up)?;
    trial.compare("y", y, &expected.y)?;
    Ok(trial.finish())
}
