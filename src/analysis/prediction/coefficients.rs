//! The coefficients of the model of time, and how they are fitted.

use serde::Serialize;

use super::{Features, Observation};
use crate::analysis::calibration::{Calibration, Level};
use crate::analysis::least_squares::fit_non_negative;

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

    pub(super) fn fitted(form: Form, observations: &[&Observation]) -> Option<Self> {
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
