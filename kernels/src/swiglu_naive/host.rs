//! The mistake on a CPU: each row reads both weight matrices from the first value to the last, and no row uses what
//! another has in a cache.

use rayon::prelude::*;

use crate::host::{launch, widest};
use crate::swiglu::host::{activate, activation_gradients};

/// The results of [`forward`], `[rows, hidden]` each.
pub struct NaiveOutput<'a> {
    pub y: &'a mut [f32],
    pub gate: &'a mut [f32],
    pub up: &'a mut [f32],
}

/// Computes `silu(x · gate_weight) · (x · up_weight)` for x `[rows, width]` and weights `[width, hidden]`.
pub fn forward(
    x: &[f32],
    gate_weight: &[f32],
    up_weight: &[f32],
    out: NaiveOutput<'_>,
    [width, hidden]: [usize; 2],
) {
    launch("swiglu_naive_forward", || {
        let rows = x.par_chunks(width).zip(out.y.par_chunks_mut(hidden));
        let products = out
            .gate
            .par_chunks_mut(hidden)
            .zip(out.up.par_chunks_mut(hidden));
        rows.zip(products).for_each(|((x, y), (gate, up))| {
            widest(|| {
                row_product(x, gate_weight, gate);
                row_product(x, up_weight, up);
                activate(gate, up, y);
            });
        });
    });
}

/// Multiplies a row by a matrix, one row of the matrix after the other.
#[inline(always)]
fn row_product(x: &[f32], weight: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    for (x, weight) in x.iter().zip(weight.chunks_exact(out.len())) {
        for (sum, weight) in out.iter_mut().zip(weight) {
            *sum += x * weight;
        }
    }
}

/// Replaces gate and up, `[rows, hidden]` each, by their gradients.
pub fn backward(gate: &mut [f32], up: &mut [f32], y_gradient: &[f32], hidden: usize) {
    launch("swiglu_backward", || {
        let rows = gate.par_chunks_mut(hidden).zip(up.par_chunks_mut(hidden));
        rows.zip(y_gradient.par_chunks(hidden))
            .for_each(|((gate, up), gradient)| widest(|| activation_gradients(gate, up, gradient)));
    });
}
