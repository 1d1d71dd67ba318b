//! Compares the kernels with the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use tinyllama_kernel_catalog::swiglu::{SwigluShape, reference_backward, reference_forward};

use super::NAME;
use super::workload::{GateUpLayout, launcher};
use crate::{
    KernelError,
    check::{KernelTrial, OutputCheck},
};

/// Rows and hidden features.
const CASES: [(usize, usize); 5] = [(1, 1), (7, 3), (129, 96), (7, 777), (3, 512)];

/// Compares both passes, packed and separate, in place and not, with the reference on new inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let mut checks = Vec::new();
    for (rows, hidden) in CASES {
        let shape = SwigluShape { rows, hidden };
        for packed in [true, false] {
            for in_place in [false, true] {
                let place = GateUpLayout { packed, in_place };
                let case = format!("{rows}x{hidden} {place:?}");
                let mut trial = KernelTrial::new(client, NAME, case, dtype, seed);
                let launch = launcher(&mut trial, shape, dtype, place, None);
                launch("forward")?;
                launch("backward")?;
                let (gate, up) = match packed {
                    true => unpack(trial.values("gate_up"), hidden),
                    false => (trial.values("gate").to_vec(), trial.values("up").to_vec()),
                };
                let y = reference_forward(&gate, &up);
                let (d_gate, d_up) = reference_backward(&gate, &up, trial.values("y_gradient"));
                trial.compare("y", &y)?;
                let of = |buffer: &str| match in_place {
                    true => buffer.to_string(),
                    false => format!("{buffer}_gradient"),
                };
                if packed {
                    let expected = pack(&d_gate, &d_up, hidden);
                    trial.compare_as("gradient", &of("gate_up"), &expected)?;
                } else {
                    trial.compare_as("gate gradient", &of("gate"), &d_gate)?;
                    trial.compare_as("up gradient", &of("up"), &d_up)?;
                }
                checks.extend(trial.finish());
            }
        }
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
