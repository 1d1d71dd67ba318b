//! What a run has done so far, kept so that a summary can be given at any moment.

use super::event::{Repeatability, Spread, Step, Summary};
use crate::base::statistics::quantile;
use crate::model::ModelConfig;

/// Figures of the steps done so far.
#[derive(Clone, Debug)]
pub struct Tally {
    config: ModelConfig,
    parameters: u64,
    parameter_tensors: usize,
    steps: usize,
    first_step_ms: Option<f64>,
    first_loss: Option<f64>,
    final_loss: Option<f64>,
    synchronized: bool,
    total: Vec<f64>,
    forward: Vec<f64>,
    backward: Vec<f64>,
    optimizer: Vec<f64>,
    launches: Vec<f64>,
    captured: Vec<f64>,
    peak_in_use: Option<u64>,
    peak_reserved: Option<u64>,
    pub parameters_with_gradient: Option<usize>,
    pub repeatability: Option<Repeatability>,
}

impl Tally {
    pub fn new(config: ModelConfig, parameter_tensors: usize) -> Self {
        Tally {
            config,
            parameters: config.parameters(),
            parameter_tensors,
            steps: 0,
            first_step_ms: None,
            first_loss: None,
            final_loss: None,
            synchronized: true,
            total: Vec::new(),
            forward: Vec::new(),
            backward: Vec::new(),
            optimizer: Vec::new(),
            launches: Vec::new(),
            captured: Vec::new(),
            peak_in_use: None,
            peak_reserved: None,
            parameters_with_gradient: None,
            repeatability: None,
        }
    }

    /// Takes a step in; only measured ones count for the times.
    pub fn add(&mut self, step: &Step) {
        self.steps += 1;
        self.first_step_ms.get_or_insert(step.total_ms);
        self.first_loss.get_or_insert(step.loss);
        self.final_loss = Some(step.loss);
        self.peak_in_use = self.peak_in_use.max(step.bytes_in_use);
        self.peak_reserved = self.peak_reserved.max(step.bytes_reserved);
        if !step.measured {
            return;
        }
        self.synchronized = step.synchronized;
        self.total.push(step.total_ms);
        self.forward.extend(step.forward_ms);
        self.backward.extend(step.backward_ms);
        self.optimizer.extend(step.optimizer_ms);
        self.launches.extend(step.launches.map(|n| n as f64));
        self.captured.extend(step.captured.map(|n| n as f64));
    }

    /// Median total of the measured steps, in milliseconds.
    pub fn median_ms(&self) -> Option<f64> {
        Spread::of(&self.total).map(|spread| spread.median)
    }

    /// The summary of the steps so far.
    pub fn summary(&self, complete: bool) -> Summary {
        let measured = self.total.len();
        let seconds = self.total.iter().sum::<f64>() / 1e3;
        let samples = (measured * self.config.batch_size) as u64;
        let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
        Summary {
            complete,
            steps: self.steps,
            measured_steps: measured,
            samples,
            samples_per_s: rate(samples),
            tokens_per_s: rate(samples * self.config.sequence_length as u64),
            total_ms: Spread::of(&self.total),
            forward_ms: Spread::of(&self.forward),
            backward_ms: Spread::of(&self.backward),
            optimizer_ms: Spread::of(&self.optimizer),
            synchronized: self.synchronized,
            first_step_ms: self.first_step_ms,
            launches_per_step: Spread::of(&self.launches).map(|spread| spread.median),
            captured_per_step: Spread::of(&self.captured).map(|spread| spread.median),
            peak_bytes_in_use: self.peak_in_use,
            peak_bytes_reserved: self.peak_reserved,
            first_loss: self.first_loss,
            final_loss: self.final_loss,
            parameters: self.parameters,
            parameter_tensors: self.parameter_tensors,
            parameters_with_gradient: self.parameters_with_gradient,
            repeatability: self.repeatability.clone(),
            other: Default::default(),
        }
    }
}

impl Spread {
    /// Mean, median and the 10th and 90th percentile (nearest rank, linear between ranks); `None` for no values or
    /// one that is not finite.
    pub fn of(values: &[f64]) -> Option<Spread> {
        Some(Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            median: quantile(values, 0.5)?,
            p10: quantile(values, 0.1)?,
            p90: quantile(values, 0.9)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    fn step(n: usize, total_ms: f64, measured: bool) -> Step {
        Step {
            n,
            of: 4,
            measured,
            loss: 7.0 - n as f64,
            total_ms,
            forward_ms: Some(total_ms / 2.0),
            backward_ms: None,
            optimizer_ms: None,
            synchronized: true,
            launches: Some(10),
            captured: None,
            bytes_in_use: None,
            bytes_reserved: None,
            samples_per_s: 1.0,
        }
    }

    #[test]
    fn warm_up_counts_for_the_losses_and_not_for_the_times() {
        let config = Preset::Tiny.config();
        let mut tally = Tally::new(config, 38);
        tally.add(&step(1, 1000.0, false));
        tally.add(&step(2, 10.0, true));
        tally.add(&step(3, 30.0, true));
        let summary = tally.summary(false);
        assert_eq!((summary.steps, summary.measured_steps), (3, 2));
        assert_eq!(summary.first_loss, Some(6.0));
        assert_eq!(summary.total_ms.unwrap().median, 20.0);
        assert_eq!(summary.samples_per_s, Some(16.0 / 0.04));
        assert_eq!(summary.backward_ms, None);
        assert_eq!(summary.peak_bytes_in_use, None);
        assert!(!summary.complete);
    }

    #[test]
    fn quantiles_interpolate_and_refuse_what_is_not_finite() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.mean), (2.5, 2.5));
        assert!((spread.p10 - 1.3).abs() < 1e-12 && (spread.p90 - 3.7).abs() < 1e-12);
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN]), None);
    }
}
