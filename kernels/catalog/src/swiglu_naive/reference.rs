//! The reference in plain Rust and f64, with which the kernels are compared.

use super::SwigluNaiveShape;
use crate::number::Scalar;
use crate::swiglu;

/// Results of the forward pass; all are `[rows, hidden]`.
pub struct ForwardOutputs<N = f64> {
    pub gate: Vec<N>,
    pub up: Vec<N>,
    pub y: Vec<N>,
}

/// Computes the forward pass; `x` is `[rows, width]`, the weights are `[width, hidden]`.
pub fn reference_forward<N: Scalar>(
    x: &[N],
    gate_weight: &[N],
    up_weight: &[N],
    shape: SwigluNaiveShape,
) -> ForwardOutputs<N> {
    let product = |weight: &[N]| -> Vec<N> {
        let mut product = vec![N::from(0.0); shape.rows * shape.hidden];
        for (sums, row) in product.chunks_mut(shape.hidden).zip(x.chunks(shape.width)) {
            for (value, weights) in row.iter().zip(weight.chunks(shape.hidden)) {
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum += *value * *weight;
                }
            }
        }
        product
    };
    let (gate, up) = (product(gate_weight), product(up_weight));
    let y = swiglu::reference_forward(&gate, &up);
    ForwardOutputs { gate, up, y }
}
