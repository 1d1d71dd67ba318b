//! Lookup, activation and loss on the host.

use rayon::prelude::*;

use super::exponential::exponential;
use super::vectors::{largest, sum, widest};

/// Copies the table's row of each token. Tokens must be within the table; the trainer checks them when it places a batch.
pub fn lookup(tokens: &[i32], table: &[f32], stream: &mut [f32], width: usize) {
    for (token, row) in tokens.iter().zip(stream.chunks_exact_mut(width)) {
        row.copy_from_slice(&table[*token as usize * width..][..width]);
    }
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exponential(-x))
}

/// Computes `silu(gate) · up` of rows that hold gate and up side by side.
pub fn activate(gate_up: &[f32], activated: &mut [f32], width: usize) {
    let rows = gate_up
        .par_chunks(2 * width)
        .zip(activated.par_chunks_mut(width));
    rows.for_each(|(gate_up, out)| {
        let (gate, up) = gate_up.split_at(width);
        widest(|| {
            for ((out, g), u) in out.iter_mut().zip(gate).zip(up) {
                *out = g * sigmoid(*g) * u;
            }
        });
    });
}

/// Replaces gate and up by their gradients.
pub fn activate_backward(gate_up: &mut [f32], gradient: &[f32], width: usize) {
    let rows = gate_up
        .par_chunks_mut(2 * width)
        .zip(gradient.par_chunks(width));
    rows.for_each(|(gate_up, gradient)| {
        let (gate, up) = gate_up.split_at_mut(width);
        widest(|| {
            for ((g, u), dy) in gate.iter_mut().zip(up).zip(gradient) {
                let s = sigmoid(*g);
                let d_gate = dy * *u * s * (1.0 + *g * (1.0 - s));
                *u = dy * *g * s;
                *g = d_gate;
            }
        });
    });
}

/// Computes the loss of each row and the gradient of their mean. A target outside the vocabulary makes both NaN.
pub fn cross_entropy(logits: &[f32], targets: &[i32], losses: &mut [f32], gradient: &mut [f32]) {
    let classes = logits.len() / targets.len();
    let share = 1.0 / targets.len() as f32;
    let rows = logits
        .par_chunks(classes)
        .zip(gradient.par_chunks_mut(classes));
    rows.zip(targets)
        .zip(losses)
        .for_each(|(((logits, gradient), target), loss)| {
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
            let hit = usize::try_from(*target).ok().filter(|hit| *hit < classes);
            match hit {
                Some(hit) => {
                    gradient[hit] -= share;
                    *loss = largest + sum.ln() - logits[hit];
                }
                None => {
                    gradient.fill(f32::NAN);
                    *loss = f32::NAN;
                }
            }
        });
}
