//! The reference in plain Rust and f64, with which the kernels are compared.

use crate::number::Scalar;

/// Computes `y`, `[rows, width]`.
pub fn reference_forward<N: Scalar>(x: &[N], weight: &[N], epsilon: f64) -> Vec<N> {
    x.chunks(weight.len().max(1))
        .flat_map(|row| {
            let scale = inverse_rms(row, epsilon);
            row.iter().zip(weight).map(move |(x, w)| *x * scale * *w)
        })
        .collect()
}

/// Computes the gradients of `x`, `[rows, width]`, and of `weight`, `[width]`, from that of `y`.
pub fn reference_backward<N: Scalar>(
    x: &[N],
    weight: &[N],
    y_gradient: &[N],
    epsilon: f64,
) -> (Vec<N>, Vec<N>) {
    let width = weight.len().max(1);
    let mut x_gradient = Vec::with_capacity(x.len());
    let mut weight_gradient = vec![N::from(0.0); weight.len()];
    for (row, dy) in x.chunks(width).zip(y_gradient.chunks(width)) {
        let scale = inverse_rms(row, epsilon);
        let scaled: Vec<N> = dy.iter().zip(weight).map(|(dy, w)| *dy * *w).collect();
        let dot: N = row.iter().zip(&scaled).map(|(x, g)| *x * *g).sum();
        let pull = scale * scale * scale * dot / N::from(width as f64);
        x_gradient.extend(row.iter().zip(&scaled).map(|(x, g)| scale * *g - *x * pull));
        for ((sum, x), dy) in weight_gradient.iter_mut().zip(row).zip(dy) {
            *sum += *dy * *x * scale;
        }
    }
    (x_gradient, weight_gradient)
}

fn inverse_rms<N: Scalar>(row: &[N], epsilon: f64) -> N {
    let squares: N = row.iter().map(|x| *x * *x).sum();
    N::from(1.0) / (squares / N::from(row.len() as f64) + N::from(epsilon)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Random, finite_difference, relative_error, weighted_sum};

    #[test]
    fn a_normalised_row_has_root_mean_square_one() {
        let x = Random::new(1).uniforms(777);
        let y = reference_forward(&x, &[1.0; 777], 0.0);
        let mean = y.iter().map(|y| y * y).sum::<f64>() / 777.0;
        assert!((mean - 1.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        for (rows, width) in [(1, 1), (3, 5), (7, 3)] {
            let mut random = Random::new(2);
            let x = random.uniforms(rows * width);
            let weight = random.uniforms(width);
            let dy = random.uniforms(rows * width);
            let (dx, dw) = reference_backward(&x, &weight, &dy, 1e-2);
            let by_x = finite_difference(&x, |x| {
                weighted_sum(&reference_forward(x, &weight, 1e-2), &dy)
            });
            let by_weight = finite_difference(&weight, |weight| {
                weighted_sum(&reference_forward(&x, weight, 1e-2), &dy)
            });
            assert!(
                relative_error(&dx, &by_x) < 1e-6,
                "{rows}x{width}: {dx:?} {by_x:?}"
            );
            assert!(relative_error(&dw, &by_weight) < 1e-6, "{rows}x{width}");
        }
    }
}
