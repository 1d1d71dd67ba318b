//! Compares the kernel with the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use tinyllama_kernel_catalog::swiglu_naive::{SwigluNaiveShape, reference_forward};

use super::NAME;
use super::workload::launcher;
use crate::{
    KernelError,
    check::{KernelTrial, OutputCheck},
};

/// Rows, width and hidden features.
const CASES: [(usize, usize, usize); 3] = [(1, 1, 1), (7, 3, 96), (129, 16, 24)];

/// Compares the kernel with the reference on new inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let mut checks = Vec::new();
    for (rows, width, hidden) in CASES {
        let shape = SwigluNaiveShape {
            rows,
            width,
            hidden,
        };
        let case = format!("{rows}x{width}x{hidden}");
        let mut trial = KernelTrial::new(client, NAME, case, dtype, seed);
        launcher(&mut trial, shape, dtype, None)("forward")?;
        let [x, gate_weight, up_weight] =
            ["x", "gate_weight", "up_weight"].map(|name| trial.values(name));
        let expected = reference_forward(x, gate_weight, up_weight, shape);
        trial.compare("gate", &expected.gate)?;
        trial.compare("up", &expected.up)?;
        trial.compare("y", &expected.y)?;
        checks.extend(trial.finish());
    }
    Ok(checks)
}
