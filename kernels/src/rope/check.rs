//! The kernels against the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use super::{Buffers, KERNEL, Layout, RopeBlock, Shape, reference, table, turn};
use crate::{
    KernelError,
    check::{Check, Trial, upload},
    launch::F32,
};

/// Batch, sequence, heads, turned heads and features of a head that [`check`] runs in both layouts.
const CASES: [(usize, usize, usize, usize, usize); 6] = [
    (1, 1, 1, 1, 2),
    (2, 7, 6, 3, 6),
    (1, 129, 6, 6, 8),
    (2, 7, 6, 5, 32),
    (1, 129, 3, 2, 64),
    (2, 7, 4, 3, 128),
];

/// Both directions, both layouts, in place and not, against the reference on fresh inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let mut checks = Vec::new();
    for (batch, seq, heads, turned, head_dim) in CASES {
        for layout in [Layout::TokenMajor, Layout::HeadMajor] {
            let shape = Shape {
                batch,
                seq,
                heads,
                turned,
                head_dim,
                layout,
            };
            for inverse in [false, true] {
                checks.extend(check_case(client, shape, inverse, dtype, seed)?);
            }
        }
    }
    Ok(checks)
}

fn check_case(
    client: &Client,
    shape: Shape,
    inverse: bool,
    dtype: ElemType,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    let theta = 10_000.0;
    let elements = shape.elements().iter().product();
    let case = format!(
        "{:?} {:?}, {} turned{}",
        shape.layout,
        shape.elements(),
        shape.turned,
        if inverse { ", backward" } else { "" }
    );
    let mut trial = Trial::new(client, KERNEL, case, dtype, seed);
    let (x, x_handle) = trial.input(elements, 0.0);
    let table: Vec<f64> = table(shape.seq, shape.head_dim, theta)
        .into_iter()
        .map(f64::from)
        .collect();
    let table = upload(client, &table, F32);
    let block = RopeBlock::for_device(client);
    let expected = reference(&x, shape, theta, inverse);

    // What is not turned is not written: there the output keeps what it held.
    let y = upload(client, &x, dtype);
    let buffers = Buffers {
        x: &x_handle,
        table: &table,
        y: Some(&y),
    };
    turn(client, buffers, shape, inverse, dtype, &block)?;
    trial.compare("y", y, &expected)?;
    let buffers = Buffers {
        x: &x_handle,
        table: &table,
        y: None,
    };
    turn(client, buffers, shape, inverse, dtype, &block)?;
    trial.compare("x in place", x_handle, &expected)?;
    Ok(trial.finish())
}
