//! The reference in plain Rust and f64, with which the kernels are compared.

use crate::number::Scalar;

fn sigmoid<N: Scalar>(z: N) -> N {
    N::from(1.0) / (N::from(1.0) + (-z).exp())
}

/// Computes `y` from separate `gate` and `up` of the same shape.
pub fn reference_forward<N: Scalar>(gate: &[N], up: &[N]) -> Vec<N> {
    gate.iter()
        .zip(up)
        .map(|(g, u)| *g * sigmoid(*g) * *u)
        .collect()
}

/// Computes the gradients of `gate` and `up` from that of `y`.
pub fn reference_backward<N: Scalar>(gate: &[N], up: &[N], y_gradient: &[N]) -> (Vec<N>, Vec<N>) {
    let one = N::from(1.0);
    gate.iter()
        .zip(up)
        .zip(y_gradient)
        .map(|((g, u), dy)| {
            let s = sigmoid(*g);
            (*dy * *u * s * (one + *g * (one - s)), *dy * *g * s)
        })
        .unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Random, finite_difference, relative_error, weighted_sum};

    #[test]
    fn the_activation_of_known_values() {
        let y = reference_forward(&[0.0, 1.0, -800.0], &[5.0, 2.0, 1.0]);
        assert_eq!(y[0], 0.0);
        assert!((y[1] - 2.0 / (1.0 + (-1f64).exp())).abs() < 1e-15);
        assert_eq!(y[2], 0.0);
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let mut random = Random::new(1);
        let (gate, up, dy) = (
            random.uniforms(40),
            random.uniforms(40),
            random.uniforms(40),
        );
        let (d_gate, d_up) = reference_backward(&gate, &up, &dy);
        let by_gate = finite_difference(&gate, |gate| {
            weighted_sum(&reference_forward(gate, &up), &dy)
        });
        let by_up = finite_difference(&up, |up| weighted_sum(&reference_forward(&gate, up), &dy));
        assert!(relative_error(&d_gate, &by_gate) < 1e-6);
        assert!(relative_error(&d_up, &by_up) < 1e-6);
    }
}
