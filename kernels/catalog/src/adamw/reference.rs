//! AdamW's step in plain Rust.

use super::Hyperparameters;
use crate::number::Scalar;

/// Does one step in place; `step` counts from 1.
///
/// # Panics
/// Panics if the slices differ in length.
pub fn reference<N: Scalar>(
    parameter: &mut [N],
    first_moment: &mut [N],
    second_moment: &mut [N],
    gradient: &[N],
    hyper: &Hyperparameters,
    step: u64,
) {
    let Hyperparameters {
        learning_rate,
        beta1,
        beta2,
        epsilon,
        weight_decay,
    } = *hyper;
    let correction1 = N::from(1.0 - beta1.powf(step as f64));
    let correction2 = N::from(1.0 - beta2.powf(step as f64));
    for index in 0..gradient.len() {
        let g = gradient[index];
        let m = N::from(beta1) * first_moment[index] + N::from(1.0 - beta1) * g;
        let v = N::from(beta2) * second_moment[index] + N::from(1.0 - beta2) * g * g;
        let direction = (m / correction1) / ((v / correction2).sqrt() + N::from(epsilon));
        parameter[index] -=
            N::from(learning_rate) * (N::from(weight_decay) * parameter[index] + direction);
        first_moment[index] = m;
        second_moment[index] = v;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Factors;
    use super::*;
    use crate::check::{Random, relative_error};

    const HYPER: Hyperparameters = Hyperparameters {
        learning_rate: 1e-2,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.1,
    };

    #[test]
    fn the_first_step_is_the_learning_rate_along_the_sign() {
        let (mut p, mut m, mut v) = (vec![0.5, -2.0], vec![0.0; 2], vec![0.0; 2]);
        reference(&mut p, &mut m, &mut v, &[3.0, -0.1], &HYPER, 1);
        let expected = [
            0.5 - 1e-2 * (0.1 * 0.5 + 1.0),
            -2.0 - 1e-2 * (0.1 * -2.0 - 1.0),
        ];
        assert!(relative_error(&p, &expected) < 1e-8, "{p:?}");
    }

    #[test]
    fn without_a_gradient_only_the_weight_decays() {
        let (mut p, mut m, mut v) = (vec![4.0], vec![0.0], vec![0.0]);
        reference(&mut p, &mut m, &mut v, &[0.0], &HYPER, 1);
        assert_eq!(p, [4.0 - 1e-2 * 0.1 * 4.0]);
    }

    #[test]
    fn factors_are_the_reference_in_other_words() {
        let mut random = Random::new(11);
        for number in [1, 2, 1000] {
            let [old, m, g] = [random.uniform(), random.uniform(), random.uniform()];
            let v = random.uniform().abs();
            let (mut p, mut first, mut second) = (vec![old], vec![m], vec![v]);
            reference(&mut p, &mut first, &mut second, &[g], &HYPER, number);
            let f = Factors::new(&HYPER, number).0.map(f64::from);
            let m = f[0] * m + f[1] * g;
            let v = f[2] * v + f[3] * g * g;
            let new = old - (f[6] * old + f[4] * m / ((f[5] * v).sqrt() + f[7]));
            assert!(relative_error(&[new, m, v], &[p[0], first[0], second[0]]) < 1e-6);
        }
    }
}
