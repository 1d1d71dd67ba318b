//! Predicts the step time of a model that never ran, by a small model of time that is fitted to stored runs.
//!
//! A step waits for the slower of two: the host launches kernels one after the other, and the device computes and moves
//! data. The model is `time = kernels * a + FLOP * b + FLOP of attention's scores * c + bytes * d`. Coefficients are at
//! least zero, and the fit minimises relative errors.
//!
//! Variants take the larger of the first term and the rest, or use b in place of c. To state the error, each configuration
//! is left out in turn, the others are fitted, and the one left out is predicted. All four variants are tried this way,
//! and the one with the smallest mean error is used.

mod coefficients;

use serde::Serialize;

pub use coefficients::{Coefficients, Form, TimeModelForm};

use super::calibration::{Calibration, Level};
use super::least_squares::dot;
use super::roofline::product_units;
use tinyllama_base::statistics::{Series, quantile};
use tinyllama_contract::model::work::{self, Work};
use tinyllama_contract::model::{ModelConfig, Recipe};
use tinyllama_contract::{ElementType, MatrixProducts};

/// With fewer configurations no prediction can be checked by leaving one out.
pub const LEAST_CONFIGURATIONS: usize = 4;

/// Work of a step, counted from shapes. The number of kernels was observed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Features {
    /// Launches by the host. It is 1 if the backend reports none; then the coefficient is a constant time a step.
    pub launches: f64,
    /// Launches by a captured graph. 0 without a graph.
    pub captured: f64,
    pub flops: f64,
    /// FLOP of attention's scores, which grow with the square of the sequence length. They are a part of `flops`.
    pub score_flops: f64,
    pub bytes: f64,
}

impl Features {
    pub fn from_model(
        config: &ModelConfig,
        recipe: &Recipe,
        operand: ElementType,
        launches: Option<f64>,
        captured: Option<f64>,
    ) -> Self {
        let parts = work::training_step(config, recipe, operand);
        let all: Work = parts.iter().map(|(_, work)| *work).sum();
        Features {
            launches: launches.unwrap_or(1.0),
            captured: captured.unwrap_or(0.0),
            flops: all.flops,
            score_flops: work::score_flops(config, recipe),
            bytes: all.bytes,
        }
    }

    /// Kernels, FLOP without scores, FLOP of scores, bytes.
    fn row(&self) -> [f64; 4] {
        [
            self.launches + self.captured,
            self.flops - self.score_flops,
            self.score_flops,
            self.bytes,
        ]
    }

    /// Milliseconds of the longest of launching, computing and moving at the calibrated rates. A perfect program needs
    /// that long.
    pub fn ceiling_ms(
        &self,
        calibration: &Calibration,
        dtype: &str,
        products: &MatrixProducts,
    ) -> Option<f64> {
        let mut units = product_units(dtype, products).into_iter().chain([dtype]);
        let arithmetic = units.find_map(|unit| calibration.flops_per_s(unit, None))?;
        let launching = calibration.launch_us().unwrap_or(0.0) * self.launches / 1e3;
        let computing = 1e3 * self.flops / arithmetic;
        let moving = 1e3 * self.bytes / calibration.bytes_per_s(Level::Cold)?;
        Some(launching.max(computing).max(moving))
    }
}

/// A configuration that ran, with the median of its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    pub config: ModelConfig,
    pub features: Features,
    pub step_ms: f64,
    /// Null if the backend reports none.
    pub peak_bytes: Option<f64>,
    pub runs: usize,
}

/// Merges observations of the same configuration. Their times become the median.
pub fn merged(observations: &[Observation]) -> Vec<Observation> {
    let mut merged: Vec<(Observation, Vec<f64>)> = Vec::new();
    for observation in observations {
        let same = |(known, _): &&mut (Observation, _)| known.config == observation.config;
        match merged.iter_mut().find(same) {
            Some((known, times)) => {
                times.push(observation.step_ms);
                known.runs += observation.runs;
                let peaks = known.peak_bytes.into_iter().chain(observation.peak_bytes);
                known.peak_bytes = peaks.reduce(f64::max);
            }
            None => merged.push((observation.clone(), vec![observation.step_ms])),
        }
    }
    let with_median = |(observation, times)| {
        Some(Observation {
            step_ms: Series::new(times).ok()?.median(),
            ..observation
        })
    };
    merged.into_iter().filter_map(with_median).collect()
}

/// A configuration and its prediction by a model that was fitted without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldOut {
    pub config: ModelConfig,
    pub measured_ms: f64,
    pub predicted_ms: f64,
    /// Predicted over measured, less 1.
    pub error: f64,
}

/// A model of time with its known error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeModel {
    pub coefficients: Coefficients,
    pub held_out: Vec<HeldOut>,
    /// Mean of the absolute errors, as a share. The next two are shares too.
    pub mean_error: f64,
    pub median_error: f64,
    pub largest_error: f64,
    /// Peak memory over the estimate from shapes. Null if no run reported memory.
    pub memory_factor: Option<f64>,
    /// Largest absolute error of the memory when each configuration is left out in turn.
    pub memory_error: Option<f64>,
}

impl TimeModel {
    /// Returns `None` with fewer than [`LEAST_CONFIGURATIONS`] configurations, or if no variant can be fitted.
    pub fn fitted(observations: &[Observation]) -> Option<Self> {
        let observations = merged(observations);
        if observations.len() < LEAST_CONFIGURATIONS {
            return None;
        }
        TimeModelForm::ALL
            .into_iter()
            .filter_map(|shape| Self::of_shape(shape, &observations))
            .min_by(|a, b| a.mean_error.total_cmp(&b.mean_error))
    }

    fn of_shape(shape: TimeModelForm, observations: &[Observation]) -> Option<Self> {
        let all: Vec<&Observation> = observations.iter().collect();
        let coefficients = Coefficients::fitted(shape, &all)?;
        let held_out = (0..all.len())
            .map(|left_out| {
                let mut others = all.clone();
                others.remove(left_out);
                let fit = Coefficients::fitted(shape, &others)?;
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
            mean_error: errors.iter().sum::<f64>() / errors.len() as f64,
            median_error: quantile(&errors, 0.5)?,
            largest_error: quantile(&errors, 1.0)?,
            held_out,
            memory_factor,
            memory_error,
        })
    }

    /// The smallest and the largest ratio of measured to predicted time among the configurations that were left out.
    pub fn measured_over_predicted(&self) -> (f64, f64) {
        let held_out = self.held_out.iter();
        let ratios = held_out.map(|held| held.measured_ms / held.predicted_ms);
        ratios.fold((1.0, 1.0), |(low, high), ratio| {
            (ratio.min(low), ratio.max(high))
        })
    }

    pub fn peak_bytes(&self, config: &ModelConfig) -> Option<f64> {
        Some(self.memory_factor? * config.estimated_bytes() as f64)
    }
}

/// Returns peak over estimate, and the largest error of predicting each configuration by the median of the others.
fn memory(observations: &[Observation]) -> (Option<f64>, Option<f64>) {
    let factors = observations.iter();
    let factors = factors.filter_map(|o| Some(o.peak_bytes? / o.config.estimated_bytes() as f64));
    let factors: Vec<f64> = factors.collect();
    let errors: Vec<f64> = (0..factors.len())
        .filter_map(|left_out| {
            let mut others = factors.clone();
            let own = others.remove(left_out);
            Some((quantile(&others, 0.5)? / own - 1.0).abs())
        })
        .collect();
    (quantile(&factors, 0.5), quantile(&errors, 1.0))
}

/// Launches a step of a model with `layers` layers: the median of runs with as many layers, otherwise a line through all
/// runs.
pub fn launches(observed: &[(usize, f64)], layers: usize) -> Option<f64> {
    let same = observed.iter().filter(|(of, _)| *of == layers);
    let same: Vec<f64> = same.map(|(_, launches)| *launches).collect();
    if let Some(median) = quantile(&same, 0.5) {
        return Some(median);
    }
    let rows = observed.iter().map(|(layers, _)| vec![1.0, *layers as f64]);
    let rows: Vec<Vec<f64>> = rows.collect();
    let y: Vec<f64> = observed.iter().map(|(_, launches)| *launches).collect();
    match super::least_squares::fit(&rows, &y) {
        Some(fit) => Some(dot(&fit.coefficients, &[1.0, layers as f64])),
        // With a single number of layers, launches are taken as proportional to it. Norm and head count as one more layer.
        None => {
            let (seen, launches) = observed.first()?;
            Some(launches * (layers + 1) as f64 / (seen + 1) as f64)
        }
    }
}

#[cfg(test)]
mod tests;
