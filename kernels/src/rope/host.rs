//! The rotation on a CPU.

use rayon::prelude::*;
use tinyllama_kernel_catalog::rope::RopeShape;

use crate::host::{launch, widest};

/// Rotates pairs of `x` in place, whose tokens come before their heads, or back if `inverse`. `table` has cosine and sine
/// of each position and pair, `[seq, head_dim / 2, 2]`.
pub fn turn(x: &mut [f32], table: &[f32], shape: RopeShape, inverse: bool) {
    let direction = if inverse { -1.0 } else { 1.0 };
    launch("rope_turn", || {
        let tokens = x.par_chunks_mut(shape.heads * shape.head_dim);
        tokens.enumerate().for_each(|(token, heads)| {
            let angles = &table[token % shape.seq * shape.head_dim..][..shape.head_dim];
            let turned = &mut heads[..shape.turned * shape.head_dim];
            widest(|| {
                for head in turned.chunks_exact_mut(shape.head_dim) {
                    turn_head(head, angles, direction);
                }
            });
        });
    });
}

#[inline(always)]
fn turn_head(head: &mut [f32], angles: &[f32], direction: f32) {
    let pairs = head.as_chunks_mut::<2>().0;
    for ([even, odd], [cosine, sine]) in pairs.iter_mut().zip(angles.as_chunks::<2>().0) {
        let sine = direction * sine;
        (*even, *odd) = (*even * cosine - *odd * sine, *even * sine + *odd * cosine);
    }
}
