//! Loss and gradient on a CPU.

use rayon::prelude::*;

use crate::host::{exponential, largest, launch, sum, widest};

/// Computes the loss of each row of `logits` and the gradient of `share · Σ loss`. A target outside the classes makes
/// both NaN.
pub fn rows(logits: &[f32], targets: &[i32], losses: &mut [f32], gradient: &mut [f32], share: f32) {
    let classes = logits.len() / targets.len();
    launch("cross_entropy_rows", || {
        let rows = logits
            .par_chunks(classes)
            .zip(gradient.par_chunks_mut(classes));
        rows.zip(targets)
            .zip(losses)
            .for_each(|(((logits, gradient), target), loss)| {
                *loss = row(logits, *target, gradient, share);
            });
    });
}

fn row(logits: &[f32], target: i32, gradient: &mut [f32], share: f32) -> f32 {
    let (largest, sum) = widest(|| {
        let largest = largest(logits);
        for (g, logit) in gradient.iter_mut().zip(logits) {
            *g = exponential(logit - largest);
        }
        let sum = sum(gradient);
        let scale = share / sum;
        for g in gradient.iter_mut() {
            *g *= scale;
        }
        (largest, sum)
    });
    let hit = usize::try_from(target).ok();
    match hit.filter(|hit| *hit < logits.len()) {
        Some(hit) => {
            gradient[hit] -= share;
            // The difference comes first: it is exact, and the sum of large numbers would lose digits.
            largest - logits[hit] + sum.ln()
        }
        None => {
            gradient.fill(f32::NAN);
            f32::NAN
        }
    }
}

/// Returns the mean of the rows' losses.
pub fn mean(losses: &[f32]) -> f32 {
    launch("cross_entropy_mean", || {
        let sum: f64 = losses.iter().map(|loss| f64::from(*loss)).sum();
        (sum / losses.len() as f64) as f32
    })
}
