//! Coefficients of the model of time, and their fit.

use serde::Serialize;

use super::{Features, Observation};
use crate::least_squares::{dot, fit_non_negative};

/// How the host's time and the device's time add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Host and device work one after the other.
    Sum,
    /// Host and device work at the same time. The longer one counts.
    Larger,
}

/// The variant of the model that is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimeModelForm {
    pub form: Form,
    /// If true, attention's scores have their own rate.
    pub scores_apart: bool,
}

impl TimeModelForm {
    pub const ALL: [TimeModelForm; 4] = [
        TimeModelForm::new(Form::Sum, false),
        TimeModelForm::new(Form::Larger, false),
        TimeModelForm::new(Form::Sum, true),
        TimeModelForm::new(Form::Larger, true),
    ];

    pub const fn new(form: Form, scores_apart: bool) -> Self {
        TimeModelForm { form, scores_apart }
    }

    /// Indices of the features of the device. Those in a group share a coefficient.
    fn device(self) -> &'static [&'static [usize]] {
        if self.scores_apart {
            &[&[1], &[2], &[3]]
        } else {
            &[&[1, 2], &[3]]
        }
    }
}

/// Index of the kernels among the features.
const KERNELS: &[usize] = &[0];

/// Milliseconds per unit of each feature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coefficients {
    #[serde(flatten)]
    pub shape: TimeModelForm,
    pub ms_per_kernel: f64,
    pub ms_per_flop: f64,
    /// For the FLOP of attention's scores.
    pub ms_per_score_flop: f64,
    pub ms_per_byte: f64,
}

impl Coefficients {
    fn new(
        shape: TimeModelForm,
        [ms_per_kernel, ms_per_flop, ms_per_score_flop, ms_per_byte]: [f64; 4],
    ) -> Self {
        Coefficients {
            shape,
            ms_per_kernel,
            ms_per_flop,
            ms_per_score_flop,
            ms_per_byte,
        }
    }

    pub fn step_ms(&self, features: &Features) -> f64 {
        let [kernels, device @ ..] = features.row();
        let host = kernels * self.ms_per_kernel;
        let device = dot(
            &device,
            &[self.ms_per_flop, self.ms_per_score_flop, self.ms_per_byte],
        );
        match self.shape.form {
            Form::Sum => host + device,
            Form::Larger => host.max(device),
        }
    }

    pub(super) fn fitted(shape: TimeModelForm, observations: &[&Observation]) -> Option<Self> {
        match shape.form {
            Form::Sum => {
                let groups: Vec<&[usize]> = [KERNELS]
                    .into_iter()
                    .chain(shape.device().iter().copied())
                    .collect();
                Some(Self::new(shape, sum_of(observations, &groups)?))
            }
            Form::Larger => larger_of(shape, observations),
        }
    }
}

/// Fits the sum of the given features to relative errors.
fn sum_of(observations: &[&Observation], groups: &[&[usize]]) -> Option<[f64; 4]> {
    let value = |observation: &Observation, group: &[usize]| -> f64 {
        let row = observation.features.row();
        group.iter().map(|at| row[*at]).sum()
    };
    let largest: Vec<f64> = groups
        .iter()
        .map(|group| {
            let values = observations.iter().map(|o| value(o, group));
            values.fold(f64::MIN_POSITIVE, f64::max)
        })
        .collect();
    // Columns are scaled to 1, so that 1e12 FLOP and 500 kernels are solved equally well.
    let rows: Vec<Vec<f64>> = observations
        .iter()
        .map(|o| {
            groups
                .iter()
                .zip(&largest)
                .map(|(group, scale)| value(o, group) / scale / o.step_ms)
                .collect()
        })
        .collect();
    let solution = fit_non_negative(&rows, &vec![1.0; rows.len()])?;
    let mut all = [0.0; 4];
    for ((group, scale), value) in groups.iter().zip(&largest).zip(solution) {
        for at in *group {
            all[*at] = value / scale;
        }
    }
    Some(all)
}

/// Fits the larger of two terms. With observations sorted by the device's work, every index is tried from which the device
/// is the slower one.
fn larger_of(shape: TimeModelForm, observations: &[&Observation]) -> Option<Coefficients> {
    let mut sorted = observations.to_vec();
    sorted.sort_by(|a, b| a.features.flops.total_cmp(&b.features.flops));
    let candidates = (0..=sorted.len()).filter_map(|split| {
        let (host, device) = sorted.split_at(split);
        let of_host = sum_of(host, &[KERNELS]).map_or(0.0, |fit| fit[0]);
        let of_device = sum_of(device, shape.device());
        if !host.is_empty() && of_host == 0.0 || !device.is_empty() && of_device.is_none() {
            return None;
        }
        let mut all = of_device.unwrap_or_default();
        all[0] = of_host;
        Some(Coefficients::new(shape, all))
    });
    let misfit = |fit: &Coefficients| -> f64 {
        sorted
            .iter()
            .map(|o| (fit.step_ms(&o.features) / o.step_ms - 1.0).powi(2))
            .sum()
    };
    candidates.min_by(|a, b| misfit(a).total_cmp(&misfit(b)))
}
