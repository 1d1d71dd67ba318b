//! The reference in plain Rust and f64, with which the kernels are compared.

use crate::rmsnorm;

/// Computes `(sum, y)`, both `[rows, width]`.
pub fn reference_forward(
    x: &[f64],
    residual: &[f64],
    weight: &[f64],
    epsilon: f64,
) -> (Vec<f64>, Vec<f64>) {
    let sum: Vec<f64> = x.iter().zip(residual).map(|(x, r)| x + r).collect();
    let y = rmsnorm::reference_forward(&sum, weight, epsilon);
    (sum, y)
}

/// Computes the gradient of x, which residual shares, and of `weight`, from the gradients of `sum` and `y`.
pub fn reference_backward(
    sum: &[f64],
    weight: &[f64],
    sum_gradient: &[f64],
    y_gradient: &[f64],
    epsilon: f64,
) -> (Vec<f64>, Vec<f64>) {
    let (mut gradient, weight_gradient) =
        rmsnorm::reference_backward(sum, weight, y_gradient, epsilon);
    for (total, passed) in gradient.iter_mut().zip(sum_gradient) {
        *total += passed;
    }
    (gradient, weight_gradient)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Random, finite_difference, relative_error, weighted_sum};

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let mut random = Random::new(1);
        let (x, residual) = (random.uniforms(15), random.uniforms(15));
        let weight = random.uniforms(5);
        let (d_sum, dy) = (random.uniforms(15), random.uniforms(15));
        let loss = |x: &[f64], residual: &[f64], weight: &[f64]| {
            let (sum, y) = reference_forward(x, residual, weight, 1e-2);
            weighted_sum(&sum, &d_sum) + weighted_sum(&y, &dy)
        };
        let (sum, _) = reference_forward(&x, &residual, &weight, 1e-2);
        let (gradient, dw) = reference_backward(&sum, &weight, &d_sum, &dy, 1e-2);
        let by_x = finite_difference(&x, |x| loss(x, &residual, &weight));
        let by_residual = finite_difference(&residual, |residual| loss(&x, residual, &weight));
        let by_weight = finite_difference(&weight, |weight| loss(&x, &residual, weight));
        assert!(relative_error(&gradient, &by_x) < 1e-6);
        assert!(relative_error(&gradient, &by_residual) < 1e-6);
        assert!(relative_error(&dw, &by_weight) < 1e-6);
    }
}
