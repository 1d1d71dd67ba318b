//! The operation in plain Rust and f64: what the kernels are held against.

use super::Shape;
use crate::swiglu;

/// What the forward pass computes; all `[rows, hidden]`.
pub struct Outputs {
    pub gate: Vec<f64>,
    pub up: Vec<f64>,
    pub y: Vec<f64>,
}

/// Gradients of x and of both weights.
pub struct Gradients {
    pub x: Vec<f64>,
    pub gate_weight: Vec<f64>,
    pub up_weight: Vec<f64>,
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

/// Gradients given that of `y`, `[rows, hidden]`.
pub fn reference_backward(
    x: &[f64],
    gate_weight: &[f64],
    up_weight: &[f64],
    y_gradient: &[f64],
    shape: Shape,
) -> Gradients {
    let Outputs { gate, up, .. } = reference_forward(x, gate_weight, up_weight, shape);
    let (d_gate, d_up) = swiglu::reference_backward(&gate, &up, y_gradient);
    let mut gradients = Gradients {
        x: vec![0.0; shape.rows * shape.width],
        gate_weight: vec![0.0; shape.width * shape.hidden],
        up_weight: vec![0.0; shape.width * shape.hidden],
    };
    for row in 0..shape.rows {
        for feature in 0..shape.width {
            let at = row * shape.width + feature;
            for unit in 0..shape.hidden {
                let (weight, slope) = (feature * shape.hidden + unit, row * shape.hidden + unit);
                gradients.x[at] +=
                    d_gate[slope] * gate_weight[weight] + d_up[slope] * up_weight[weight];
                gradients.gate_weight[weight] += x[at] * d_gate[slope];
                gradients.up_weight[weight] += x[at] * d_up[slope];
            }
        }
    }
    gradients
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Random, finite_difference, relative_error, weighted_sum};

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let shape = Shape {
            rows: 3,
            width: 4,
            hidden: 5,
        };
        let mut random = Random::new(1);
        let (x, dy) = (random.uniforms(12), random.uniforms(15));
        let (gate, up) = (random.uniforms(20), random.uniforms(20));
        let loss = |x: &[f64], gate: &[f64], up: &[f64]| {
            weighted_sum(&reference_forward(x, gate, up, shape).y, &dy)
        };
        let gradients = reference_backward(&x, &gate, &up, &dy, shape);
        let by_x = finite_difference(&x, |x| loss(x, &gate, &up));
        let by_gate = finite_difference(&gate, |gate| loss(&x, gate, &up));
        let by_up = finite_difference(&up, |up| loss(&x, &gate, up));
        assert!(relative_error(&gradients.x, &by_x) < 1e-6);
        assert!(relative_error(&gradients.gate_weight, &by_gate) < 1e-6);
        assert!(relative_error(&gradients.up_weight, &by_up) < 1e-6);
    }
}
