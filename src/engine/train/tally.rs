//! Keeps what a run has done so far, so that a summary is possible at any moment.

use crate::model::ModelConfig;
use crate::train::{RankCheck, Repeatability, Spread, Step, Summary, process_peak};

/// The steps done so far.
#[derive(Clone, Debug)]
pub struct Tally {
    config: ModelConfig,
    parameter_tensors: usize,
    steps: Vec<Step>,
    pub parameters_with_gradient: Option<usize>,
    pub repeatability: Option<Repeatability>,
    pub rank_check: Option<RankCheck>,
}

impl Tally {
    pub fn new(config: ModelConfig, parameter_tensors: usize) -> Self {
        Tally {
            config,
            parameter_tensors,
            steps: Vec::new(),
            parameters_with_gradient: None,
            repeatability: None,
            rank_check: None,
        }
    }

    /// Adds a step; only measured steps count for the times.
    pub fn add(&mut self, step: &Step) {
        self.steps.push(step.clone());
    }

    fn measured(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.measured)
    }

    /// Returns the spread of a figure over the measured steps that report it.
    fn spread(&self, figure: impl Fn(&Step) -> Option<f64>) -> Option<Spread> {
        let reported: Vec<f64> = self.measured().filter_map(figure).collect();
        Spread::from_values(&reported)
    }

    /// Returns the median total of the measured steps, in milliseconds.
    pub fn median_ms(&self) -> Option<f64> {
        self.spread(|step| Some(step.total_ms))
            .map(|spread| spread.median)
    }

    /// Summarises the steps so far.
    pub fn summary(&self, complete: bool) -> Summary {
        let measured = self.measured().count();
        let seconds = self.measured().map(|step| step.total_ms).sum::<f64>() / 1e3;
        let samples = (measured * self.config.batch_size) as u64;
        let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
        let median = |figure: fn(&Step) -> Option<u64>| {
            let counts = self.spread(|step| figure(step).map(|count| count as f64));
            counts.map(|spread| spread.median)
        };
        let most = |figure: fn(&Step) -> Option<u64>| self.steps.iter().filter_map(figure).max();
        let (first, last) = (self.steps.first(), self.steps.last());
        let device = (
            most(|step| step.bytes_in_use),
            most(|step| step.bytes_reserved),
        );
        Summary {
            complete,
            steps: self.steps.len(),
            measured_steps: measured,
            samples,
            samples_per_s: rate(samples),
            tokens_per_s: rate(samples * self.config.sequence_length as u64),
            total_ms: self.spread(|step| Some(step.total_ms)),
            forward_ms: self.spread(|step| step.forward_ms),
            backward_ms: self.spread(|step| step.backward_ms),
            optimizer_ms: self.spread(|step| step.optimizer_ms),
            synchronized: self.measured().last().is_none_or(|step| step.synchronized),
            first_step_ms: first.map(|step| step.total_ms),
            launches_per_step: median(|step| step.launches),
            captured_per_step: median(|step| step.captured),
            peak_bytes_in_use: device.0,
            peak_bytes_reserved: device.1,
            process_peak_bytes: match device.1 {
                None => process_peak(),
                Some(_) => None,
            },
            first_loss: first.map(|step| step.loss),
            final_loss: last.map(|step| step.loss),
            parameters: self.config.parameters(),
            parameter_tensors: self.parameter_tensors,
            parameters_with_gradient: self.parameters_with_gradient,
            repeatability: self.repeatability.clone(),
            rank_check: self.rank_check.clone(),
            waited_ms: self.spread(|step| {
                let waits = step.ranks.iter().filter_map(|rank| rank.waited_ms);
                waits.reduce(f64::max)
            }),
            other: Default::default(),
        }
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
            ranks: vec![],
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
        if cfg!(target_os = "linux") {
            assert!(summary.process_peak_bytes > Some(1 << 20));
        }
        tally.add(&Step {
            bytes_reserved: Some(5),
            ..step(4, 30.0, true)
        });
        assert_eq!(tally.summary(true).process_peak_bytes, None);
    }

    #[test]
    fn quantiles_interpolate_and_refuse_what_is_not_finite() {
        let spread = Spread::from_values(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.mean), (2.5, 2.5));
        assert!((spread.p10 - 1.3).abs() < 1e-12 && (spread.p90 - 3.7).abs() < 1e-12);
        assert_eq!(Spread::from_values(&[]), None);
        assert_eq!(Spread::from_values(&[1.0, f64::NAN]), None);
    }
}
