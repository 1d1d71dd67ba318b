//! The passes on a CPU, row by row.

use rayon::prelude::*;

use crate::host::{dot, launch, widest};

/// Rows of equal width.
#[derive(Clone, Copy)]
pub struct NormRows {
    pub width: usize,
    pub epsilon: f32,
}

/// The inputs of a backward pass.
pub struct SavedNorm<'a> {
    pub y_gradient: &'a [f32],
    pub x: &'a [f32],
    /// What [`NormRows::forward`] returned for each row.
    pub scale: &'a [f32],
    pub weight: &'a [f32],
}

impl NormRows {
    /// Computes `scale = 1 / sqrt(mean(x²) + ε)` of each row and `y = x · scale · weight`.
    pub fn forward(&self, x: &[f32], weight: &[f32], y: &mut [f32], scale: &mut [f32]) {
        launch("rmsnorm_forward", || {
            let rows = x.par_chunks(self.width).zip(y.par_chunks_mut(self.width));
            rows.zip(scale).for_each(|((x, y), scale)| {
                widest(|| {
                    *scale = self.scale(x);
                    for ((y, x), weight) in y.iter_mut().zip(x).zip(weight) {
                        *y = x * *scale * weight;
                    }
                });
            });
        });
    }

    /// Computes the scale of each row alone.
    pub fn scales(&self, x: &[f32]) -> Vec<f32> {
        let rows = x.par_chunks(self.width);
        rows.map(|x| widest(|| self.scale(x))).collect()
    }

    #[inline(always)]
    fn scale(&self, x: &[f32]) -> f32 {
        1.0 / (dot(x, x) / self.width as f32 + self.epsilon).sqrt()
    }

    /// Adds the gradient of x to `gradient`, or replaces it if `first`: with r the scale, r (w dy - x r² mean(w dy x)).
    /// Writes partial sums of the weight's gradient, Σ dy x r, each over `rows_per_partial` rows.
    pub fn backward(
        &self,
        saved: SavedNorm<'_>,
        gradient: &mut [f32],
        first: bool,
        partials: &mut [f32],
        rows_per_partial: usize,
    ) {
        let width = self.width;
        let group = rows_per_partial * width;
        launch("rmsnorm_backward", || {
            let groups = gradient
                .par_chunks_mut(group)
                .zip(partials.par_chunks_mut(width));
            groups
                .zip(saved.y_gradient.par_chunks(group))
                .zip(saved.x.par_chunks(group))
                .zip(saved.scale.par_chunks(rows_per_partial))
                .for_each(|((((gradient, partial), dy), x), scale)| {
                    widest(|| {
                        partial.fill(0.0);
                        let mut weighted = vec![0.0; width];
                        let rows = gradient.chunks_exact_mut(width).zip(dy.chunks_exact(width));
                        for (((gradient, dy), x), scale) in
                            rows.zip(x.chunks_exact(width)).zip(scale)
                        {
                            for ((weighted, dy), weight) in
                                weighted.iter_mut().zip(dy).zip(saved.weight)
                            {
                                *weighted = dy * weight;
                            }
                            let pull = scale.powi(3) * dot(&weighted, x) / width as f32;
                            for (((g, weighted), x), (sum, dy)) in gradient
                                .iter_mut()
                                .zip(&weighted)
                                .zip(x)
                                .zip(partial.iter_mut().zip(dy))
                            {
                                // The old value is not multiplied by zero, because it may be NaN.
                                let before = if first { 0.0 } else { *g };
                                *g = before + scale * weighted - x * pull;
                                *sum += dy * x * scale;
                            }
                        }
                    });
                });
        });
    }

    /// Sums the partial sums to the weight's gradient.
    pub fn sum_partials(&self, partials: &[f32], gradient: &mut [f32]) {
        launch("rmsnorm_sum_partials", || {
            gradient.fill(0.0);
            for partial in partials.chunks_exact(self.width) {
                for (sum, partial) in gradient.iter_mut().zip(partial) {
                    *sum += partial;
                }
            }
        });
    }
}
