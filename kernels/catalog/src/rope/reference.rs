//! The reference in plain Rust and f64, with which the kernels are compared.

use super::RopeShape;
use crate::number::Scalar;

/// Computes cosine and sine of every pair's angle in f64, `[seq, head_dim / 2, 2]`.
pub fn table(seq: usize, head_dim: usize, theta: f64) -> Vec<f32> {
    let pairs = head_dim / 2;
    (0..seq)
        .flat_map(|position| (0..pairs).map(move |pair| (position, pair)))
        .flat_map(|(position, pair)| {
            let angle = position as f64 * theta.powf(-2.0 * pair as f64 / head_dim as f64);
            [angle.cos() as f32, angle.sin() as f32]
        })
        .collect()
}

/// Rotates the first `turned` heads of `x` and copies the others; the result has the shape of `x`. `inverse` rotates
/// backwards, which is the backward pass.
pub fn reference<N: Scalar>(x: &[N], shape: RopeShape, theta: f64, inverse: bool) -> Vec<N> {
    let mut turned = x.to_vec();
    for (index, pair) in turned.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let element = index * 2;
        let Some(position) = shape.position(element) else {
            continue;
        };
        let feature = element % shape.head_dim;
        let angle = position as f64 * theta.powf(-(feature as f64) / shape.head_dim as f64);
        let (sine, cosine) = if inverse { -angle } else { angle }.sin_cos();
        let (sine, cosine) = (N::from(sine), N::from(cosine));
        *pair = [
            pair[0] * cosine - pair[1] * sine,
            pair[0] * sine + pair[1] * cosine,
        ];
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::{super::RopeLayout, *};
    use crate::check::{Random, finite_difference, relative_error, weighted_sum};

    const SHAPE: RopeShape = RopeShape {
        batch: 2,
        seq: 5,
        heads: 3,
        turned: 2,
        head_dim: 6,
        layout: RopeLayout::TokenMajor,
    };

    #[test]
    fn turning_back_restores_the_input() {
        for layout in [RopeLayout::TokenMajor, RopeLayout::HeadMajor] {
            let shape = RopeShape { layout, ..SHAPE };
            let x = Random::new(1).uniforms(shape.elements().iter().product());
            let turned = reference(&x, shape, 100.0, false);
            assert!(relative_error(&turned, &x) > 0.1);
            assert!(relative_error(&reference(&turned, shape, 100.0, true), &x) < 1e-14);
        }
    }

    #[test]
    fn layouts_agree_up_to_their_order() {
        let x = Random::new(2).uniforms(SHAPE.elements().iter().product());
        let by_head = |values: &[f64]| -> Vec<f64> {
            let RopeShape {
                batch,
                seq,
                heads,
                head_dim,
                ..
            } = SHAPE;
            let mut moved = Vec::new();
            for b in 0..batch {
                for h in 0..heads {
                    for s in 0..seq {
                        let start = ((b * seq + s) * heads + h) * head_dim;
                        moved.extend_from_slice(&values[start..start + head_dim]);
                    }
                }
            }
            moved
        };
        let head_major = RopeShape {
            layout: RopeLayout::HeadMajor,
            ..SHAPE
        };
        let expected = by_head(&reference(&x, SHAPE, 100.0, false));
        assert_eq!(reference(&by_head(&x), head_major, 100.0, false), expected);
    }

    #[test]
    fn the_backward_pass_is_that_of_finite_differences() {
        let mut random = Random::new(3);
        let x = random.uniforms(SHAPE.elements().iter().product());
        let dy = random.uniforms(x.len());
        let dx = reference(&dy, SHAPE, 100.0, true);
        let differences = finite_difference(&x, |x| {
            weighted_sum(&reference(x, SHAPE, 100.0, false), &dy)
        });
        assert!(relative_error(&dx, &differences) < 1e-6);
    }

    #[test]
    fn the_table_holds_cosine_and_sine_of_each_pair() {
        let table = table(3, 4, 10_000.0);
        assert_eq!(table.len(), 3 * 4);
        assert_eq!(table[..4], [1.0, 0.0, 1.0, 0.0]);
        let slow = 2.0f64 * 10_000f64.powf(-0.5);
        assert_eq!(
            table[8..],
            [
                2f64.cos() as f32,
                2f64.sin() as f32,
                slow.cos() as f32,
                slow.sin() as f32
            ]
        );
    }
}
