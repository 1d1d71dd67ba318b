//! Compares the kernel with the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use tinyllama_kernel_catalog::rope::{RopeLayout, RopeShape, reference, table};

use super::NAME;
use super::launch::turn;
use crate::{
    KernelError,
    check::{KernelTrial, OutputCheck},
    launch::{F32, cube_block},
    workload::{BufferContent, BufferSource},
};

const THETA: f64 = 10_000.0;

/// Batch, sequence, heads, rotated heads and features per head. [`check`] runs each in both layouts.
const CASES: [(usize, usize, usize, usize, usize); 6] = [
    (1, 1, 1, 1, 2),
    (2, 7, 6, 3, 6),
    (1, 129, 6, 6, 8),
    (2, 7, 6, 5, 32),
    (1, 129, 3, 2, 64),
    (2, 7, 4, 3, 128),
];

/// Compares both directions and layouts, in place and not, with the reference on new inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let block = cube_block(NAME, client, None);
    let mut checks = Vec::new();
    for (batch, seq, heads, turned, head_dim) in CASES {
        for layout in [RopeLayout::TokenMajor, RopeLayout::HeadMajor] {
            let shape = RopeShape {
                batch,
                seq,
                heads,
                turned,
                head_dim,
                layout,
            };
            for inverse in [false, true] {
                let dims = shape.elements();
                let way = if inverse { ", backward" } else { "" };
                let case = format!("{layout:?} {dims:?}, {turned} turned{way}");
                let mut trial = KernelTrial::new(client, NAME, case, dtype, seed);
                let elements = dims.iter().product();
                let x = trial.input("x", elements, dtype);
                let angles = table(seq, head_dim, THETA);
                let angles: Vec<f64> = angles.into_iter().map(f64::from).collect();
                let table = trial.buffer("table", angles.len(), F32, BufferContent::Given(&angles));
                // Heads that are not rotated are not written: there the output keeps its old values.
                let values = trial.values("x").to_vec();
                let y = trial.buffer("y", elements, dtype, BufferContent::Given(&values));
                for y in [Some(&y), None] {
                    turn(client, [&x, &table], y, shape, inverse, dtype, &block)?;
                }
                let expected = reference(&values, shape, THETA, inverse);
                trial.compare("y", &expected)?;
                trial.compare_as("x in place", "x", &expected)?;
                checks.extend(trial.finish());
            }
        }
    }
    Ok(checks)
}
