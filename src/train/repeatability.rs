//! Whether the same step from the same state gives the same bits.

use burn::tensor::{ExecutionError, Tensor};

use super::event::Repeatability;
use super::trainer::{DeviceBatch, Trainer};

impl Repeatability {
    /// `repeats` repeats of which nothing is known yet.
    fn of(repeats: usize) -> Self {
        Repeatability {
            repeats,
            identical: true,
            loss_difference: 0.0,
            gradient_difference: 0.0,
            differing_parameter: None,
        }
    }
}

/// A loss and every gradient, on the host.
struct Repeat {
    loss: f32,
    gradients: Vec<(String, Vec<f32>)>,
}

/// Computes loss and gradients of `batch` `repeats` times without updating anything, and compares all to the first.
///
/// # Errors
/// What the device reports when results are read back.
pub fn check(
    trainer: &Trainer,
    batch: &DeviceBatch,
    repeats: usize,
) -> Result<Repeatability, ExecutionError> {
    let first = run(trainer, batch)?;
    let mut result = Repeatability::of(repeats);
    for _ in 1..repeats {
        let again = run(trainer, batch)?;
        compare(&first, &again, &mut result);
    }
    Ok(result)
}

fn run(trainer: &Trainer, batch: &DeviceBatch) -> Result<Repeat, ExecutionError> {
    let (loss, gradients) = trainer.gradients(batch);
    let loss = to_host(loss.inner())?[0];
    let mut on_host = Vec::new();
    for parameter in trainer.model().parameters() {
        if let Some(gradient) = parameter.gradient(&gradients) {
            on_host.push((parameter.name, to_host(gradient)?));
        }
    }
    Ok(Repeat {
        loss,
        gradients: on_host,
    })
}

/// Two repeats that were computed elsewhere: loss and gradients by name.
pub fn compare_pair(
    first: (f32, Vec<(String, Vec<f32>)>),
    again: (f32, Vec<(String, Vec<f32>)>),
) -> Repeatability {
    let [first, again] = [first, again].map(|(loss, gradients)| Repeat { loss, gradients });
    let mut result = Repeatability::of(2);
    compare(&first, &again, &mut result);
    result
}

fn to_host(tensor: Tensor<1>) -> Result<Vec<f32>, ExecutionError> {
    let data = tensor.try_into_data()?;
    Ok(data.iter::<f32>().collect())
}

fn compare(first: &Repeat, again: &Repeat, result: &mut Repeatability) {
    let loss_difference = relative(&[again.loss], &[first.loss]);
    result.loss_difference = result.loss_difference.max(loss_difference);
    result.identical &= again.loss.to_bits() == first.loss.to_bits();
    for ((name, a), (_, b)) in again.gradients.iter().zip(&first.gradients) {
        if a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()) {
            continue;
        }
        result.identical = false;
        let difference = relative(a, b);
        if result.differing_parameter.is_none() || difference > result.gradient_difference {
            result.gradient_difference = difference;
            result.differing_parameter = Some(name.clone());
        }
    }
}

/// ‖a-b‖/‖b‖; infinite where a value is not finite.
fn relative(a: &[f32], b: &[f32]) -> f64 {
    let (mut difference, mut norm) = (0f64, 0f64);
    for (a, b) in a.iter().zip(b) {
        difference += (f64::from(*a) - f64::from(*b)).powi(2);
        norm += f64::from(*b).powi(2);
    }
    if !difference.is_finite() || !norm.is_finite() {
        return f64::INFINITY;
    }
    if difference == 0.0 {
        0.0
    } else {
        (difference / norm).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(loss: f32, gradient: f32) -> Repeat {
        Repeat {
            loss,
            gradients: vec![("embedding".into(), vec![1.0, gradient])],
        }
    }

    fn compared(first: &Repeat, again: &Repeat) -> Repeatability {
        let mut result = Repeatability {
            repeats: 2,
            identical: true,
            loss_difference: 0.0,
            gradient_difference: 0.0,
            differing_parameter: None,
        };
        compare(first, again, &mut result);
        result
    }

    #[test]
    fn one_bit_of_one_gradient_is_a_difference() {
        let same = compared(&repeat(7.0, 2.0), &repeat(7.0, 2.0));
        assert!(same.identical && same.differing_parameter.is_none());
        let other = compared(
            &repeat(7.0, 2.0),
            &repeat(7.0, f32::from_bits(2f32.to_bits() + 1)),
        );
        assert!(!other.identical);
        assert_eq!(other.differing_parameter.as_deref(), Some("embedding"));
        assert!(other.gradient_difference > 0.0 && other.gradient_difference < 1e-6);
    }

    #[test]
    fn what_is_not_finite_is_never_close() {
        assert_eq!(relative(&[f32::NAN], &[1.0]), f64::INFINITY);
        assert!(!compared(&repeat(f32::NAN, 1.0), &repeat(7.0, 1.0)).identical);
    }
}
