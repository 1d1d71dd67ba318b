//! The reference in plain Rust and f64, with which the kernels are compared.

use crate::number::Scalar;

/// Computes loss and log-sum-exp of every row of `logits`, `[targets.len(), classes]`. A target outside the classes
/// makes its loss NaN.
pub fn reference_forward<N: Scalar>(
    logits: &[N],
    targets: &[usize],
    classes: usize,
) -> (Vec<N>, Vec<N>) {
    logits
        .chunks(classes.max(1))
        .zip(targets)
        .map(|(row, target)| {
            let largest = row
                .iter()
                .copied()
                .fold(N::from(f64::NEG_INFINITY), N::larger);
            let sum: N = row.iter().map(|logit| (*logit - largest).exp()).sum();
            let log_sum = largest + sum.ln();
            let logit = row.get(*target).copied().unwrap_or(N::from(f64::NAN));
            (log_sum - logit, log_sum)
        })
        .unzip()
}

/// Computes the gradient of `scale · Σ loss` with respect to the logits.
pub fn reference_backward(
    logits: &[f64],
    targets: &[usize],
    classes: usize,
    scale: f64,
) -> Vec<f64> {
    let (losses, log_sums) = reference_forward(logits, targets, classes);
    let mut gradient = Vec::with_capacity(logits.len());
    for (row, ((target, loss), log_sum)) in logits
        .chunks(classes.max(1))
        .zip(targets.iter().zip(&losses).zip(&log_sums))
    {
        for (class, logit) in row.iter().enumerate() {
            let hit = if class == *target { 1.0 } else { 0.0 };
            // A NaN loss spreads to its row's gradient.
            gradient.push(((logit - log_sum).exp() - hit) * scale + 0.0 * loss);
        }
    }
    gradient
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Random, finite_difference, relative_error};

    #[test]
    fn equal_logits_cost_the_logarithm_of_their_number() {
        let (losses, log_sums) = reference_forward(&[2.0; 3 * 61], &[0, 5, 60], 61);
        for (loss, log_sum) in losses.iter().zip(&log_sums) {
            assert!((loss - 61f64.ln()).abs() < 1e-12, "{loss}");
            assert!((log_sum - 61f64.ln() - 2.0).abs() < 1e-12, "{log_sum}");
        }
    }

    #[test]
    fn large_logits_do_not_overflow() {
        let (losses, _) = reference_forward(&[1e4, 1e4 - 1.0], &[1], 2);
        assert!(
            (losses[0] - (1.0 + (-1f64).exp().ln_1p())).abs() < 1e-9,
            "{losses:?}"
        );
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let mut random = Random::new(1);
        let logits = random.uniforms(4 * 7);
        let targets = [0, 6, 3, 3];
        let gradient = reference_backward(&logits, &targets, 7, 0.25);
        let differences = finite_difference(&logits, |logits| {
            reference_forward(logits, &targets, 7).0.iter().sum::<f64>() * 0.25
        });
        assert!(relative_error(&gradient, &differences) < 1e-6);
    }

    #[test]
    fn a_target_outside_the_classes_is_not_a_number() {
        let (losses, _) = reference_forward(&[0.0; 6], &[1, 3], 3);
        assert!(losses[0].is_finite() && losses[1].is_nan());
        let gradient = reference_backward(&[0.0; 6], &[1, 3], 3, 1.0);
        assert!(gradient[..3].iter().all(|value| value.is_finite()));
        assert!(gradient[3..].iter().all(|value| value.is_nan()));
    }
}
