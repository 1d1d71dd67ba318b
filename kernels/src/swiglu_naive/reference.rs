//! The operation in plain Rust and f64: what the kernels are held against.

use super::Shape;
use crate::swiglu;

/// What the forward pass computes; all `[rows, hidden]`.
pub struct Outputs {
    pub gate: Vec<f64>,
    pub up: Vec<f64>,
    pub y: Vec<f64>,
}

/// `x` is `[rows, width]`, the weights are `[width, hidden]`.
pub fn reference_forward(
    x: &[f64],
    gate_weight: &[f64],
    up_weight: &[f64],
    shape: Shape,
) -> Outputs {
    let product = |weight: &[f64]| -> Vec<f64> {
        let mut product = vec![0.0; shape.rows * shape.hidden];
        for (sums, row) in product.chunks_mut(shape.hidden).zip(x.chunks(shape.width)) {
            for (value, weights) in row.iter().zip(weight.chunks(shape.hidden)) {
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum += value * weight;
                }
            }
        }
        product
    };
    let (gate, up) = (product(gate_weight), product(up_weight));
    let y = swiglu::reference_forward(&gate, &up);
    Outputs { gate, up, y }
}
