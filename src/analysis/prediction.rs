//! How long a step of a model that was never run will take: a small model of time, fitted to runs that were kept.
//!
//! A step waits for the slower of two: the host, which hands over launches one after the other, and the device, which computes
//! and moves. `time = launches * a + FLOP * b + bytes * c` (or the larger of the first term and the rest), coefficients not
//! below zero, fitted to relative errors. How good that is, is said by leaving each configuration out in turn, fitting to the
//! others and predicting it; both forms are tried that way, and the better one is used.

use serde::Serialize;

use super::calibration::{Calibration, Level};
use super::least_squares::{dot, fit_non_negative};
use super::statistics::Series;
use crate::model::{ModelConfig, Recipe, work};

/// Configurations below which there is nothing to leave out.
pub const LEAST_CONFIGURATIONS: usize = 4;

/// What a step consists of, counted from shapes; launches as they were observed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Features {
    /// 1 where the backend reports none: then the coefficient is a constant time a step.
    pub launches: f64,
    pub flops: f64,
    pub bytes: f64,
}

impl Features {
    pub fn of(config: &ModelConfig, recipe: &Recipe, launches: Option<f64>) -> Self {
        let works = work::training_step(config, recipe);
        Features {
            launches: launches.unwrap_or(1.0),
            flops: works.iter().map(|work| work.flops).sum(),
            bytes: works.iter().map(|work| work.bytes).sum(),
        }
    }

    fn row(&self) -> [f64; 3] {
        [self.launches, self.flops, self.bytes]
    }
}

/// A configuration that ran, with the median of its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    pub config: ModelConfig,
    pub features: Features,
    pub step_ms: f64,
    /// Null where the backend reports none.
    pub peak_bytes: Option<f64>,
    pub runs: usize,
}

/// Observations with the same configuration are one, with the median of their times.
pub fn merged(observations: &[Observation]) -> Vec<Observation> {
    let mut merged: Vec<(Observation, Vec<f64>)> = Vec::new();
    for observation in observations {
        match merged
            .iter_mut()
            .find(|(known, _)| known.config == observation.config)
        {
            Some((known, times)) => {
                times.push(observation.step_ms);
                known.runs += observation.runs;
                known.peak_bytes = match (known.peak_bytes, observation.peak_bytes) {
                    (Some(a), Some(b)) => Some(a.max(b)),
                    (a, b) => a.or(b),
                };
            }
            None => merged.push((observation.clone(), vec![observation.step_ms])),
        }
    }
    merged
        .into_iter()
        .filter_map(|(observation, times)| {
            Some(Observation {
                step_ms: Series::new(times).ok()?.median(),
                ..observation
            })
        })
        .collect()
}

/// How the host's and the device's time add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// One after the other.
    Sum,
    /// At the same time: the longer one counts.
    Larger,
}

/// Milliseconds a unit of each feature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coefficients {
    pub form: Form,
    pub ms_per_launch: f64,
    pub ms_per_flop: f64,
    pub ms_per_byte: f64,
}

impl Coefficients {
    pub fn step_ms(&self, features: &Features) -> f64 {
        let [launches, flops, bytes] = features.row();
        let host = launches * self.ms_per_launch;
        let device = flops * self.ms_per_flop + bytes * self.ms_per_byte;
        match self.form {
            Form::Sum => host + device,
            Form::Larger => host.max(device),
        }
    }

    /// Of the ceilings alone, without any run: what a perfect program would need.
    pub fn of_ceilings(calibration: &Calibration, dtype: &str) -> Option<Self> {
        Some(Coefficients {
            form: Form::Larger,
            ms_per_launch: calibration.launch_us().unwrap_or(0.0) / 1e3,
            ms_per_flop: 1e3 / calibration.flops_per_s(dtype, None)?,
            ms_per_byte: 1e3 / calibration.bytes_per_s(Level::Cold)?,
        })
    }

    fn fitted(form: Form, observations: &[&Observation]) -> Option<Self> {
        match form {
            Form::Sum => sum_of(observations, [true; 3]),
            Form::Larger => larger_of(observations),
        }
    }
}

/// Fit of the sum, to relative errors, with the features that are asked for.
fn sum_of(observations: &[&Observation], features: [bool; 3]) -> Option<Coefficients> {
    let kept: Vec<usize> = (0..3).filter(|at| features[*at]).collect();
    let largest: Vec<f64> = kept
        .iter()
        .map(|at| {
            let values = observations.iter().map(|o| o.features.row()[*at]);
            values.fold(f64::MIN_POSITIVE, f64::max)
        })
        .collect();
    // Scaled to 1, so that 1e12 FLOP and 500 launches are solved alike.
    let rows: Vec<Vec<f64>> = observations
        .iter()
        .map(|o| {
            kept.iter()
                .zip(&largest)
                .map(|(at, scale)| o.features.row()[*at] / scale / o.step_ms)
                .collect()
        })
        .collect();
    let solution = fit_non_negative(&rows, &vec![1.0; rows.len()])?;
    let mut all = [0.0; 3];
    for ((at, scale), value) in kept.iter().zip(&largest).zip(solution) {
        all[*at] = value / scale;
    }
    Some(Coefficients {
        form: Form::Sum,
        ms_per_launch: all[0],
        ms_per_flop: all[1],
        ms_per_byte: all[2],
    })
}

/// Fit of the larger of two: every place is tried at which the device, in order of its work, overtakes the host.
fn larger_of(observations: &[&Observation]) -> Option<Coefficients> {
    let mut sorted = observations.to_vec();
    sorted.sort_by(|a, b| a.features.flops.total_cmp(&b.features.flops));
    let candidates = (0..=sorted.len()).filter_map(|split| {
        let (host, device) = sorted.split_at(split);
        let host = sum_of(host, [true, false, false]).map_or(0.0, |fit| fit.ms_per_launch);
        let device = sum_of(device, [false, true, true]);
        if split > 0 && host == 0.0 || split < sorted.len() && device.is_none() {
            return None;
        }
        Some(Coefficients {
            form: Form::Larger,
            ms_per_launch: host,
            ms_per_flop: device.map_or(0.0, |fit| fit.ms_per_flop),
            ms_per_byte: device.map_or(0.0, |fit| fit.ms_per_byte),
        })
    });
    let misfit = |fit: &Coefficients| -> f64 {
        sorted
            .iter()
            .map(|o| (fit.step_ms(&o.features) / o.step_ms - 1.0).powi(2))
            .sum()
    };
    candidates.min_by(|a, b| misfit(a).total_cmp(&misfit(b)))
}

/// A configuration predicted by a model that had not seen it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldOut {
    pub config: ModelConfig,
    pub measured_ms: f64,
    pub predicted_ms: f64,
    /// Predicted over measured, less 1.
    pub error: f64,
}

/// A model of time with what is known of its error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeModel {
    pub coefficients: Coefficients,
    pub held_out: Vec<HeldOut>,
    /// Of the absolute errors.
    pub median_error: f64,
    pub largest_error: f64,
    /// Peak memory over the estimate from shapes; null where none was reported.
    pub memory_factor: Option<f64>,
    /// Largest absolute error of the memory, each configuration left out in turn.
    pub memory_error: Option<f64>,
}

impl TimeModel {
    /// None with fewer than [`LEAST_CONFIGURATIONS`] configurations, or where nothing can be fitted.
    pub fn fitted(observations: &[Observation]) -> Option<Self> {
        let observations = merged(observations);
        if observations.len() < LEAST_CONFIGURATIONS {
            return None;
        }
        [Form::Sum, Form::Larger]
            .into_iter()
            .filter_map(|form| Self::of_form(form, &observations))
            .min_by(|a, b| a.median_error.total_cmp(&b.median_error))
    }

    fn of_form(form: Form, observations: &[Observation]) -> Option<Self> {
        let all: Vec<&Observation> = observations.iter().collect();
        let coefficients = Coefficients::fitted(form, &all)?;
        let held_out = (0..all.len())
            .map(|left_out| {
                let others: Vec<&Observation> = observations
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != left_out)
                    .map(|(_, o)| o)
                    .collect();
                let fit = Coefficients::fitted(form, &others)?;
                let observation = &observations[left_out];
                let predicted_ms = fit.step_ms(&observation.features);
                Some(HeldOut {
                    config: observation.config,
                    measured_ms: observation.step_ms,
                    predicted_ms,
                    error: predicted_ms / observation.step_ms - 1.0,
                })
            })
            .collect::<Option<Vec<HeldOut>>>()?;
        let errors: Vec<f64> = held_out.iter().map(|held| held.error.abs()).collect();
        let (memory_factor, memory_error) = memory(observations);
        Some(TimeModel {
            coefficients,
            median_error: quantile(&errors, 0.5)?,
            largest_error: quantile(&errors, 1.0)?,
            held_out,
            memory_factor,
            memory_error,
        })
    }

    /// The smallest and largest ratio of what was measured to what was predicted of a configuration that was held out.
    pub fn measured_over_predicted(&self) -> (f64, f64) {
        self.held_out
            .iter()
            .map(|held| held.measured_ms / held.predicted_ms)
            .fold((1.0, 1.0), |(low, high), ratio| {
                (f64::min(low, ratio), f64::max(high, ratio))
            })
    }

    pub fn peak_bytes(&self, config: &ModelConfig) -> Option<f64> {
        Some(self.memory_factor? * config.estimated_bytes() as f64)
    }
}

/// Peak over estimate, and the largest error of predicting each configuration by the median of the others.
fn memory(observations: &[Observation]) -> (Option<f64>, Option<f64>) {
    let factors: Vec<f64> = observations
        .iter()
        .filter_map(|o| Some(o.peak_bytes? / o.config.estimated_bytes() as f64))
        .collect();
    let errors: Vec<f64> = (0..factors.len())
        .filter_map(|left_out| {
            let mut others = factors.clone();
            let own = others.remove(left_out);
            Some((quantile(&others, 0.5)? / own - 1.0).abs())
        })
        .collect();
    (quantile(&factors, 0.5), quantile(&errors, 1.0))
}

fn quantile(values: &[f64], p: f64) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = p * (sorted.len() - 1) as f64;
    let (low, high) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(low + (high - low) * place.fract())
}

/// Launches a step of a model with so many layers: of a run with as many, else along the line through all of them.
pub fn launches(observed: &[(usize, f64)], layers: usize) -> Option<f64> {
    let same: Vec<f64> = observed
        .iter()
        .filter(|(of, _)| *of == layers)
        .map(|(_, launches)| *launches)
        .collect();
    if let Some(median) = quantile(&same, 0.5) {
        return Some(median);
    }
    let rows: Vec<Vec<f64>> = observed
        .iter()
        .map(|(layers, _)| vec![1.0, *layers as f64])
        .collect();
    let y: Vec<f64> = observed.iter().map(|(_, launches)| *launches).collect();
    match super::least_squares::fit(&rows, &y) {
        Some(fit) => Some(dot(&fit.coefficients, &[1.0, layers as f64])),
        // One number of layers was seen: launches are taken as proportional, norm and head apart.
        None => {
            let (seen, launches) = observed.first()?;
            Some(launches * (layers + 1) as f64 / (seen + 1) as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Preset, Target};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn observation(sequence: usize, batch: usize, time: impl Fn(&Features) -> f64) -> Observation {
        let config = ModelConfig {
            sequence_length: sequence,
            batch_size: batch,
            ..Preset::Small.config()
        };
        let features = Features::of(&config, &Target::V1.recipe(), Some(700.0));
        Observation {
            config,
            features,
            step_ms: time(&features),
            peak_bytes: Some(1.25 * config.estimated_bytes() as f64),
            runs: 1,
        }
    }

    /// Launches of 5 us on the host, against 40 TFLOP/s and 1.5 TB/s on the device.
    fn truth(features: &Features) -> f64 {
        let host: f64 = 700.0 * 0.005;
        host.max(features.flops / 4e10 + features.bytes / 1.5e9)
    }

    /// The first three are bound by the host, so that one of them may be left out.
    fn grid(time: impl Fn(&Features) -> f64) -> Vec<Observation> {
        let sizes = [
            (32, 1),
            (32, 2),
            (64, 1),
            (64, 8),
            (128, 8),
            (256, 8),
            (256, 16),
            (512, 8),
            (1024, 8),
            (1024, 16),
        ];
        sizes
            .map(|(sequence, batch)| observation(sequence, batch, &time))
            .to_vec()
    }

    #[test]
    fn a_host_and_a_device_are_found_and_unseen_sizes_predicted() {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let noise: Vec<f64> = (0..10)
            .map(|_| 0.95 + 0.1 * random.random::<f64>())
            .collect();
        let observations: Vec<Observation> = grid(truth)
            .into_iter()
            .zip(noise)
            .map(|(o, noise)| Observation {
                step_ms: o.step_ms * noise,
                ..o
            })
            .collect();
        let model = TimeModel::fitted(&observations).unwrap();
        assert_eq!(model.coefficients.form, Form::Larger, "{model:#?}");
        assert!(
            model.median_error < 0.1 && model.largest_error < 0.2,
            "{model:#?}"
        );
        let unseen = observation(2048, 8, truth);
        let ratio = model.coefficients.step_ms(&unseen.features) / unseen.step_ms;
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
        let ratio = model.peak_bytes(&unseen.config).unwrap() / unseen.peak_bytes.unwrap();
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn the_stated_error_is_that_of_configurations_the_model_had_not_seen() {
        // Times that follow nothing that was counted: no model may claim to know them.
        let mut random = ChaCha8Rng::seed_from_u64(12);
        let observations: Vec<Observation> = grid(|_| 1.0)
            .into_iter()
            .map(|o| Observation {
                step_ms: 10_f64.powf(3.0 * random.random::<f64>()),
                ..o
            })
            .collect();
        let model = TimeModel::fitted(&observations).unwrap();
        assert!(model.median_error > 0.3, "{}", model.median_error);
        assert_eq!(model.held_out.len(), 10);
    }

    #[test]
    fn a_configuration_that_is_off_does_not_vouch_for_itself() {
        let mut observations = grid(truth);
        observations[5].step_ms *= 10.0;
        let others: Vec<&Observation> = observations
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != 5)
            .map(|(_, o)| o)
            .collect();
        for form in [Form::Sum, Form::Larger] {
            let model = TimeModel::of_form(form, &observations).unwrap();
            let without = Coefficients::fitted(form, &others).unwrap();
            let predicted = without.step_ms(&observations[5].features);
            assert_eq!(model.held_out[5].predicted_ms, predicted);
            assert_ne!(model.coefficients, without);
        }
    }

    #[test]
    fn repeats_of_a_configuration_do_not_pose_as_held_out() {
        let twice: Vec<Observation> = grid(truth)[..2].iter().cycle().take(8).cloned().collect();
        assert_eq!(merged(&twice).len(), 2);
        assert!(TimeModel::fitted(&twice).is_none());
    }

    #[test]
    fn launches_follow_the_layers() {
        assert_eq!(
            launches(&[(8, 500.0), (8, 520.0), (4, 300.0)], 8),
            Some(510.0)
        );
        let more = launches(&[(8, 500.0), (4, 260.0)], 12).unwrap();
        assert!((more - 740.0).abs() < 1e-6, "{more}");
        assert_eq!(launches(&[(8, 450.0)], 17), Some(900.0));
        assert_eq!(launches(&[], 8), None);
    }
}
