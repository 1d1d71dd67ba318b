//! Computes the energy of a run from samples of the power.

use tinyllama_base::statistics::half_width;

/// Power at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerSample {
    /// Seconds on any clock.
    pub t: f64,
    /// Watts.
    pub watts: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    pub joules: f64,
    /// Half the width of the 95 % confidence interval. Errors of the sensor are not included.
    pub uncertainty: f64,
    /// Number of samples behind it.
    pub samples: usize,
}

impl Energy {
    /// Energy of one of `count` equal pieces of work. `None` if `count` is 0.
    pub fn divided_by(&self, count: u64) -> Option<Energy> {
        let count = (count > 0).then_some(count as f64)?;
        Some(Energy {
            joules: self.joules / count,
            uncertainty: self.uncertainty / count,
            samples: self.samples,
        })
    }
}

/// Fewer samples say nothing about how much the power varies.
const FEWEST_SAMPLES: usize = 3;

/// Energy between `start` and `end` in seconds, by the trapezoidal rule. The power at the ends comes from the nearest
/// samples.
///
/// The uncertainty is that of the mean power, from the spread of the samples. Neighbouring samples resemble each other, so
/// n samples count as n(1-r)/(1+r), with r the correlation between neighbours. Returns `None` with fewer than three
/// samples in the interval.
pub fn energy(samples: &[PowerSample], start: f64, end: f64) -> Option<Energy> {
    let mut inside = samples.to_vec();
    inside.retain(|sample| sample.watts.is_finite() && sample.watts >= 0.0);
    inside.retain(|sample| sample.t >= start && sample.t <= end);
    inside.sort_by(|a, b| a.t.total_cmp(&b.t));
    let (first, last) = (*inside.first()?, *inside.last()?);
    if inside.len() < FEWEST_SAMPLES {
        return None;
    }
    let areas = inside.windows(2);
    let areas = areas.map(|pair| (pair[1].t - pair[0].t) * (pair[0].watts + pair[1].watts) / 2.0);
    let between: f64 = areas.sum();
    let joules = between + (first.t - start) * first.watts + (end - last.t) * last.watts;
    let watts: Vec<f64> = inside.iter().map(|sample| sample.watts).collect();
    Some(Energy {
        joules,
        uncertainty: (end - start) * uncertainty_of_mean(&watts),
        samples: inside.len(),
    })
}

fn uncertainty_of_mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    let variance = squares.sum::<f64>() / (count - 1.0);
    if variance == 0.0 {
        return 0.0;
    }
    let pairs = values.windows(2);
    let products = pairs.map(|pair| (pair[0] - mean) * (pair[1] - mean));
    let covariance = products.sum::<f64>() / (count - 1.0);
    // Few samples do not justify the higher precision that a negative correlation would give.
    let correlation = (covariance / variance).clamp(0.0, 0.95);
    let effective = (count * (1.0 - correlation) / (1.0 + correlation)).max(1.0);
    half_width(0.95, effective - 1.0, (variance / effective).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(watts: impl IntoIterator<Item = f64>) -> Vec<PowerSample> {
        let watts = watts.into_iter().enumerate();
        watts
            .map(|(t, watts)| PowerSample { t: t as f64, watts })
            .collect()
    }

    #[test]
    fn constant_power_is_power_times_time() {
        let energy = energy(&samples([300.0; 11]), 0.5, 9.5).unwrap();
        assert!((energy.joules - 2700.0).abs() < 1e-9, "{energy:?}");
        assert_eq!(energy.uncertainty, 0.0);
        assert_eq!(energy.samples, 9);
        let step = energy.divided_by(9).unwrap();
        assert!((step.joules - 300.0).abs() < 1e-9);
        assert_eq!(energy.divided_by(0), None);
    }

    #[test]
    fn a_ramp_is_the_area_under_it() {
        let energy = energy(&samples((0..=10).map(|t| 10.0 * f64::from(t))), 0.0, 10.0).unwrap();
        assert!((energy.joules - 500.0).abs() < 1e-9, "{energy:?}");
        assert!(energy.uncertainty > 0.0);
    }

    #[test]
    fn too_few_samples_are_no_energy() {
        assert_eq!(energy(&samples([300.0, 300.0]), 0.0, 1.0), None);
        assert_eq!(energy(&samples([f64::NAN; 5]), 0.0, 4.0), None);
        assert_eq!(energy(&[], 0.0, 1.0), None);
    }

    /// With correlated samples, the interval contains the true value about as often as it claims.
    #[test]
    fn the_uncertainty_covers_the_truth() {
        let mut state = 42u64;
        let mut noise = move || {
            // SplitMix64. The sum of twelve uniform numbers is close to a normal one.
            let mut uniform = || {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (z ^ (z >> 31)) as f64 / u64::MAX as f64
            };
            (0..12).map(|_| uniform()).sum::<f64>() - 6.0
        };
        const RUNS: usize = 2000;
        let mut covered = 0;
        for _ in 0..RUNS {
            let mut drift = 0.0;
            let watts: Vec<f64> = (0..60)
                .map(|_| {
                    drift = 0.5 * drift + 10.0 * noise();
                    300.0 + drift
                })
                .collect();
            let energy = energy(&samples(watts), 0.0, 59.0).unwrap();
            covered += usize::from((energy.joules - 59.0 * 300.0).abs() <= energy.uncertainty);
        }
        let share = covered as f64 / RUNS as f64;
        assert!((0.90..=0.99).contains(&share), "{share}");
    }
}
