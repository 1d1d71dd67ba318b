//! The kernels against the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use super::{
    Backward, Forward, GateUp, KERNEL, Shape, SwigluBlock, backward, forward, reference_backward,
    reference_forward,
};
use crate::{
    KernelError,
    check::{Check, Trial},
};

const CASES: [Shape; 5] = [
    Shape { rows: 1, hidden: 1 },
    Shape { rows: 7, hidden: 3 },
    Shape {
        rows: 129,
        hidden: 96,
    },
    Shape {
        rows: 7,
        hidden: 777,
    },
    Shape {
        rows: 3,
        hidden: 512,
    },
];

/// Both passes, packed and separate, in place and not, against the reference on fresh inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let mut checks = Vec::new();
    for shape in CASES {
        checks.extend(check_packed(client, shape, dtype, seed)?);
        checks.extend(check_separate(client, shape, dtype, seed)?);
    }
    Ok(checks)
}

fn check_packed(
    client: &Client,
    shape: Shape,
    dtype: ElemType,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    let Shape { rows, hidden } = shape;
    let case = format!("{rows}x{hidden} packed");
    let block = SwigluBlock::for_device(client);
    let mut trial = Trial::new(client, KERNEL, case, dtype, seed);
    let (gate_up, handle) = trial.input(2 * rows * hidden, 0.0);
    let (dy, dy_handle) = trial.input(rows * hidden, 0.0);
    let (gate, up) = unpack(&gate_up, hidden);
    let packed = GateUp::Packed(&handle);

    let y = trial.output(rows * hidden);
    forward(
        client,
        Forward {
            gate_up: packed,
            y: &y,
        },
        shape,
        dtype,
        &block,
    )?;
    trial.compare("y", y, &reference_forward(&gate, &up))?;

    let (d_gate, d_up) = reference_backward(&gate, &up, &dy);
    let expected = pack(&d_gate, &d_up, hidden);
    let gradient = trial.output(2 * rows * hidden);
    let buffers = Backward {
        gate_up: packed,
        y_gradient: &dy_handle,
        gradient: Some(GateUp::Packed(&gradient)),
    };
    backward(client, buffers, shape, dtype, &block)?;
    trial.compare("gradient", gradient, &expected)?;
    let buffers = Backward {
        gate_up: packed,
        y_gradient: &dy_handle,
        gradient: None,
    };
    backward(client, buffers, shape, dtype, &block)?;
    trial.compare("gradient in place", handle, &expected)?;
    Ok(trial.finish())
}

fn check_separate(
    client: &Client,
    shape: Shape,
    dtype: ElemType,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    let Shape { rows, hidden } = shape;
    let case = format!("{rows}x{hidden} separate");
    let block = SwigluBlock::for_device(client);
    let mut trial = Trial::new(client, KERNEL, case, dtype, seed);
    let (gate, gate_handle) = trial.input(rows * hidden, 0.0);
    let (up, up_handle) = trial.input(rows * hidden, 0.0);
    let (dy, dy_handle) = trial.input(rows * hidden, 0.0);
    let gate_up = GateUp::Separate {
        gate: &gate_handle,
        up: &up_handle,
    };

    let y = trial.output(rows * hidden);
    forward(client, Forward { gate_up, y: &y }, shape, dtype, &block)?;
    trial.compare("y", y, &reference_forward(&gate, &up))?;

    let (d_gate, d_up) = reference_backward(&gate, &up, &dy);
    let (gate_out, up_out) = (trial.output(rows * hidden), trial.output(rows * hidden));
    let buffers = Backward {
        gate_up,
        y_gradient: &dy_handle,
        gradient: Some(GateUp::Separate {
            gate: &gate_out,
            up: &up_out,
        }),
    };
    backward(client, buffers, shape, dtype, &block)?;
    trial.compare("gate_gradient", gate_out, &d_gate)?;
    trial.compare("up_gradient", up_out, &d_up)?;
    let buffers = Backward {
        gate_up,
        y_gradient: &dy_handle,
        gradient: None,
    };
    backward(client, buffers, shape, dtype, &block)?;
    trial.compare("gate_gradient in place", gate_handle, &d_gate)?;
    trial.compare("up_gradient in place", up_handle, &d_up)?;
    Ok(trial.finish())
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
    use super::*;
    use crate::check::Random;

    #[test]
    fn packing_is_undone_by_unpacking() {
        let packed = Random::new(2).uniforms(2 * 3 * 5);
        let (gate, up) = unpack(&packed, 5);
        assert_eq!(gate[..5], packed[..5]);
        assert_eq!(up[..5], packed[5..10]);
        assert_eq!(pack(&gate, &up, 5), packed);
    }
}
