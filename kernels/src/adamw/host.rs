//! The update on a CPU.

use rayon::prelude::*;
use tinyllama_kernel_catalog::adamw::Factors;

use crate::host::{launch, widest};

/// Elements that one thread updates at a time.
const CHUNK: usize = 1 << 14;

/// A run of parameters with gradients and both moments, all of one length.
pub struct HostParameters<'a> {
    pub values: &'a mut [f32],
    pub gradients: &'a [f32],
    pub first_moments: &'a mut [f32],
    pub second_moments: &'a mut [f32],
}

/// Does one step of AdamW over all of `parameters`, as one launch.
pub fn step(parameters: Vec<HostParameters<'_>>, factors: &Factors) {
    let factors = factors.to_array();
    launch("adamw_step", || {
        let chunks = parameters.into_par_iter().flat_map(|parameters| {
            let values = parameters.values.par_chunks_mut(CHUNK);
            let first = parameters.first_moments.par_chunks_mut(CHUNK);
            let second = parameters.second_moments.par_chunks_mut(CHUNK);
            let gradients = parameters.gradients.par_chunks(CHUNK);
            values.zip(gradients).zip(first.zip(second))
        });
        chunks.for_each(|((values, gradients), (first, second))| {
            widest(|| update(values, gradients, first, second, factors));
        });
    });
}

/// m ← b₁m + (1-b₁)g, v ← b₂v + (1-b₂)g², p ← p - lr wd p - lr/(1-b₁ᵗ) m / (√(v/(1-b₂ᵗ)) + ε) (Loshchilov and Hutter, 2019).
#[inline(always)]
fn update(
    values: &mut [f32],
    gradients: &[f32],
    first: &mut [f32],
    second: &mut [f32],
    factors: [f32; tinyllama_kernel_catalog::adamw::FACTORS],
) {
    let [
        keep_first,
        add_first,
        keep_second,
        add_second,
        rate,
        correction,
        decay,
        epsilon,
    ] = factors;
    let moments = first.iter_mut().zip(second);
    for ((p, (m, v)), g) in values.iter_mut().zip(moments).zip(gradients) {
        *m = keep_first * *m + add_first * g;
        *v = keep_second * *v + add_second * g * g;
        let direction = rate * *m / ((correction * *v).sqrt() + epsilon);
        *p -= decay * *p + direction;
    }
}
