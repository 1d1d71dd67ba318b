//! Compares the kernels with the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use tinyllama_kernel_catalog::swiglu::{SwigluShape, reference_backward, reference_forward};

use super::NAME;
use super::workload::launcher;
use crate::{
    KernelError,
    check::{KernelTrial, OutputCheck},
};

/// Rows and hidden features.
const CASES: [(usize, usize); 5] = [(1, 1), (7, 3), (129, 96), (7, 777), (3, 512)];

/// Compares both passes with the reference on new inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let mut checks = Vec::new();
    for (rows, hidden) in CASES {
        let shape = SwigluShape { rows, hidden };
        let mut trial = KernelTrial::new(client, NAME, format!("{rows}x{hidden}"), dtype, seed);
        let launch = launcher(&mut trial, shape, dtype, None);
        launch("forward")?;
        launch("backward")?;
        let (gate, up) = unpack(trial.values("gate_up"), hidden);
        let y = reference_forward(&gate, &up);
        let (d_gate, d_up) = reference_backward(&gate, &up, trial.values("y_gradient"));
        trial.compare("y", &y)?;
        let expected = pack(&d_gate, &d_up, hidden);
        trial.compare_as("gradient", "gate_up_gradient", &expected)?;
        checks.extend(trial.finish());
    }
    Ok(checks)
}

fn unpack(packed: &[f64], hidden: usize) -> (Vec<f64>, Vec<f64>) {
    let rows = || packed.chunks(2 * hidden);
    (
        rows().flat_map(|row| row[..hidden].to_vec()).collect(),
        rows().flat_map(|row| row[hidden..].to_vec()).collect(),
    )
}

fn pack(gate: &[f64], up: &[f64], hidden: usize) -> Vec<f64> {
    gate.chunks(hidden)
        .zip(up.chunks(hidden))
        .flat_map(|(gate, up)| [gate, up].concat())
        .collect()
}

#[cfg(test)]
mod tests {
    use tinyllama_kernel_catalog::check::Random;

    use super::*;

    #[test]
    fn packing_is_undone_by_unpacking() {
        let packed = Random::new(2).uniforms(2 * 3 * 5);
        let (gate, up) = unpack(&packed, 5);
        assert_eq!(gate[..5], packed[..5]);
        assert_eq!(up[..5], packed[5..10]);
        assert_eq!(pack(&gate, &up, 5), packed);
    }
}
