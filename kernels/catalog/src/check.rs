//! Draws inputs from a seed, and measures the distance of a result from its reference.

/// Computes ‖actual - expected‖ / ‖expected‖. The result is infinite if a value is not finite or the lengths differ. If
/// all expected values are zero, it is the norm of `actual`.
pub fn relative_error(actual: &[f64], expected: &[f64]) -> f64 {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    if actual.len() != expected.len() || !finite(actual) || !finite(expected) {
        return f64::INFINITY;
    }
    let pairs = actual.iter().zip(expected);
    let difference: f64 = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
    let norm: f64 = expected.iter().map(|b| b * b).sum();
    if norm == 0.0 {
        difference.sqrt()
    } else {
        (difference / norm).sqrt()
    }
}

/// A small generator (SplitMix64): the same seed gives the same inputs on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws uniformly from [-1, 1).
    pub fn uniform(&mut self) -> f64 {
        2.0 * self.share() - 1.0
    }

    /// Draws uniformly from [0, 1).
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws `count` values uniformly from [-1, 1).
    pub fn uniforms(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.uniform()).collect()
    }

    /// Draws uniformly from 0..`bound`; returns 0 if the bound is 0.
    pub fn integer_below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Computes d `loss` / d `input` by central differences in f64, for tests of references.
#[cfg(test)]
pub fn finite_difference(input: &[f64], mut loss: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let step = 1e-5;
    let mut moved = input.to_vec();
    (0..input.len())
        .map(|index| {
            moved[index] = input[index] + step;
            let above = loss(&moved);
            moved[index] = input[index] - step;
            let below = loss(&moved);
            moved[index] = input[index];
            (above - below) / (2.0 * step)
        })
        .collect()
}

/// Returns the weighted sum of an output: a scalar loss whose gradient with respect to the output is `weights`.
#[cfg(test)]
pub fn weighted_sum(output: &[f64], weights: &[f64]) -> f64 {
    assert_eq!(output.len(), weights.len());
    output.iter().zip(weights).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_finite_is_infinitely_far() {
        assert_eq!(relative_error(&[1.0, f64::NAN], &[1.0, 2.0]), f64::INFINITY);
        assert_eq!(relative_error(&[1.0], &[1.0, 2.0]), f64::INFINITY);
    }

    #[test]
    fn the_error_is_relative_to_the_expected_norm() {
        let error = relative_error(&[3.0, 4.5], &[3.0, 4.0]);
        assert!((error - 0.1).abs() < 1e-12, "{error}");
        assert_eq!(relative_error(&[0.0, 3.0], &[0.0, 0.0]), 3.0);
    }

    #[test]
    fn seeds_decide_the_inputs() {
        let draw = |seed| Random::new(seed).uniforms(16);
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(7).iter().all(|value| (-1.0..1.0).contains(value)));
    }
}
