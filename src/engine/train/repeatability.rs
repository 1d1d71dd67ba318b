//! Checks that the same step from the same state gives the same bits.

use anyhow::Result;

use crate::train::{Batch, Engine, Evaluation, Repeatability};
use tinyllama_base::relative_difference;

/// Computes loss and gradients of `batch` twice without an update and compares them. Also counts the parameters whose
/// gradient is not zero.
///
/// # Errors
/// Errors of the device when results are read back.
pub fn check(engine: &mut dyn Engine, batch: &Batch) -> Result<(Repeatability, usize)> {
    let (first, again) = (engine.gradients(batch)?, engine.gradients(batch)?);
    let reached = |gradient: &Option<Vec<f32>>| {
        let mut values = gradient.iter().flatten();
        values.any(|value| *value != 0.0)
    };
    let gradients = first.gradients.iter().map(|(_, gradient)| gradient);
    let with_gradient = gradients.filter(|gradient| reached(gradient)).count();
    Ok((compare(&first, &again), with_gradient))
}

fn compare(first: &Evaluation, again: &Evaluation) -> Repeatability {
    let mut result = Repeatability {
        repeats: 2,
        identical: again.loss.to_bits() == first.loss.to_bits(),
        loss_difference: relative_difference(&[again.loss], &[first.loss]),
        gradient_difference: 0.0,
        differing_parameter: None,
    };
    for ((name, a), (_, b)) in again.gradients.iter().zip(&first.gradients) {
        let (Some(a), Some(b)) = (a, b) else { continue };
        if a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()) {
            continue;
        }
        result.identical = false;
        let difference = relative_difference(a, b);
        if result.differing_parameter.is_none() || difference > result.gradient_difference {
            result.gradient_difference = difference;
            result.differing_parameter = Some(name.clone());
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(loss: f32, gradient: f32) -> Evaluation {
        Evaluation {
            loss,
            gradients: vec![("embedding".into(), Some(vec![1.0, gradient]))],
        }
    }

    #[test]
    fn one_bit_of_one_gradient_is_a_difference() {
        let same = compare(&repeat(7.0, 2.0), &repeat(7.0, 2.0));
        assert!(same.identical && same.differing_parameter.is_none());
        let next = f32::from_bits(2f32.to_bits() + 1);
        let other = compare(&repeat(7.0, 2.0), &repeat(7.0, next));
        assert!(!other.identical);
        assert_eq!(other.differing_parameter.as_deref(), Some("embedding"));
        assert!(other.gradient_difference > 0.0 && other.gradient_difference < 1e-6);
    }

    #[test]
    fn values_that_are_not_finite_are_never_close() {
        let result = compare(&repeat(f32::NAN, 1.0), &repeat(7.0, 1.0));
        assert!(!result.identical);
        assert_eq!(result.loss_difference, f64::INFINITY);
    }
}
