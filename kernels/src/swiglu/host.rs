//! The passes on a CPU.

use rayon::prelude::*;

use crate::host::{exponential, launch, widest};

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exponential(-x))
}

/// Computes `silu(gate) · up` of one row.
#[inline(always)]
pub(crate) fn activate(gate: &[f32], up: &[f32], out: &mut [f32]) {
    for ((out, g), u) in out.iter_mut().zip(gate).zip(up) {
        *out = g * sigmoid(*g) * u;
    }
}

/// Replaces gate and up of one row by their gradients. With σ = sigmoid(gate): dgate = dy up σ (1 + gate (1 - σ)),
/// dup = dy gate σ.
#[inline(always)]
pub(crate) fn activation_gradients(gate: &mut [f32], up: &mut [f32], gradient: &[f32]) {
    for ((g, u), dy) in gate.iter_mut().zip(up).zip(gradient) {
        let s = sigmoid(*g);
        let d_gate = dy * *u * s * (1.0 + *g * (1.0 - s));
        *u = dy * *g * s;
        *g = d_gate;
    }
}

/// Computes `silu(gate) · up` of rows `[gate | up]`. `y` has rows of `hidden` values.
pub fn forward(gate_up: &[f32], y: &mut [f32], hidden: usize) {
    launch("swiglu_forward", || {
        let rows = gate_up.par_chunks(2 * hidden).zip(y.par_chunks_mut(hidden));
        rows.for_each(|(gate_up, y)| {
            let (gate, up) = gate_up.split_at(hidden);
            widest(|| activate(gate, up, y));
        });
    });
}

/// Replaces gate and up by their gradients.
pub fn backward(gate_up: &mut [f32], y_gradient: &[f32], hidden: usize) {
    launch("swiglu_backward", || {
        let rows = gate_up
            .par_chunks_mut(2 * hidden)
            .zip(y_gradient.par_chunks(hidden));
        rows.for_each(|(gate_up, gradient)| {
            let (gate, up) = gate_up.split_at_mut(hidden);
            widest(|| activation_gradients(gate, up, gradient));
        });
    });
}
