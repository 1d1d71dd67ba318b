//! Compares targets with each other and with a reference in f64.

use anyhow::{Context as _, Result};
use burn::tensor::FloatDType;
use serde::Serialize;

use super::{Target, autodiff};
use crate::device::Backend;
use crate::model::{LibraryKernels, ModelConfig, Weights};
use crate::train::{Data, Evaluation, Synchronize, TrainingOptions};
use tinyllama_base::statistics::relative_difference;

/// One target's loss and gradients, compared with the reference's.
#[derive(Clone, Debug, Serialize)]
pub struct GradientComparison {
    pub target: String,
    /// Relative difference of the losses, |a-b|/|b|.
    pub loss_difference: f64,
    /// Number of tensors that received a gradient, out of `tensors`.
    pub with_gradient: usize,
    pub tensors: usize,
    /// Largest ‖a-b‖/‖b‖ over all parameters.
    pub worst_difference: f64,
    pub worst_parameter: String,
}

impl GradientComparison {
    /// Returns whether all differences are within `tolerance`. A value that is not finite never passes.
    pub fn passes(&self, tolerance: f64) -> bool {
        self.with_gradient == self.tensors
            && self.loss_difference <= tolerance
            && self.worst_difference <= tolerance
    }
}

/// Returns the largest relative difference that rounding explains.
///
/// f32 keeps 24 bits: sums over some thousand terms stay within 1e-4. On GPUs the library's fast products may round
/// their operands to tf32's 11 bits. That shows as some 1e-3 per product and up to 1e-2 through several layers. Its
/// plain products round nothing. bf16 keeps 8 bits: 2⁻⁹ per rounding, up to 5e-2 through the layers.
pub fn tolerance(operands: FloatDType, backend: Backend, library: LibraryKernels) -> f64 {
    match operands {
        FloatDType::BF16 => 5e-2,
        FloatDType::F16 => 1e-2,
        _ if rounds(backend, library) => 1e-2,
        _ => 1e-4,
    }
}

/// Returns the largest relative difference between the losses of two trainings. It allows for the rounding of ten
/// steps, each based on the one before.
pub fn training_tolerance(operands: FloatDType, backend: Backend, library: LibraryKernels) -> f64 {
    match operands {
        FloatDType::F32 if !backend.is_asynchronous() => 1e-5,
        FloatDType::F32 if !rounds(backend, library) => 1e-4,
        FloatDType::F32 => 1e-3,
        _ => 1e-2,
    }
}

/// Returns whether products of f32 matrices may round their operands.
fn rounds(backend: Backend, library: LibraryKernels) -> bool {
    backend.is_asynchronous() && library != LibraryKernels::Plain
}

/// Computes loss and gradients of each target from fresh weights and tokens of `seed`, and compares them with the
/// baseline in f64 on the CPU. Before each computation, `progress` gets what it is.
///
/// # Errors
/// Errors of a device.
pub fn compare_with_reference(
    entrants: &[TrainingOptions],
    config: &ModelConfig,
    seed: u64,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<GradientComparison>> {
    let weights = Weights::small(config, seed);
    let batch = Data::synthetic(config, seed).next_batch();
    progress("the reference: v1 in f64 on the CPU, up to a minute or two");
    let reference = autodiff::reference(config, &weights, &batch)?;
    let of = entrants.len();
    (1..)
        .zip(entrants)
        .map(|(number, options)| {
            let target = options.target;
            progress(&format!("the gradients of {target}, {number} of {of}"));
            let device = super::open(options)?;
            let mut engine = device.engine(options, &weights)?;
            let result = engine
                .gradients(&batch)
                .with_context(|| format!("{target} failed on {}", device.facts().device))?;
            Ok(compare(target, config, &result, &reference))
        })
        .collect()
}

fn compare(
    target: Target,
    config: &ModelConfig,
    result: &Evaluation,
    reference: &Evaluation<f64>,
) -> GradientComparison {
    let mut comparison = GradientComparison {
        target: target.to_string(),
        loss_difference: relative_difference(&[result.loss], &[reference.loss]),
        with_gradient: 0,
        tensors: result.gradients.len(),
        worst_difference: 0.0,
        worst_parameter: "-".into(),
    };
    for (name, gradient) in &result.gradients {
        let difference = match gradient {
            Some(gradient) => {
                comparison.with_gradient += 1;
                let expected = expected(name, config, reference);
                relative_difference(gradient, &expected)
            }
            None => f64::INFINITY,
        };
        if difference > comparison.worst_difference {
            comparison.worst_difference = difference;
            comparison.worst_parameter.clone_from(name);
        }
    }
    comparison
}

/// Returns the reference's gradient of `name`. Joins several matrices side by side if the target stores them as one.
fn expected(name: &str, config: &ModelConfig, reference: &Evaluation<f64>) -> Vec<f64> {
    let find = |name: &str| {
        let found = reference.gradients.iter().find(|(other, _)| other == name);
        found
            .and_then(|(_, gradient)| gradient.clone())
            .unwrap_or_default()
    };
    let parts: &[&str] = match name.rsplit_once('.') {
        Some((_, "qkv")) => &["q", "k", "v"],
        Some((_, "gate_up")) => &["gate", "up"],
        _ => return find(name),
    };
    let block = name.rsplit_once('.').map_or(name, |(block, _)| block);
    let parts: Vec<Vec<f64>> = parts
        .iter()
        .map(|part| find(&format!("{block}.{part}")))
        .collect();
    (0..config.hidden)
        .flat_map(|row| {
            parts.iter().flat_map(move |part| {
                let width = part.len() / config.hidden;
                part[row * width..(row + 1) * width].iter().copied()
            })
        })
        .collect()
}

/// The losses of one training.
pub struct Losses {
    pub target: Target,
    pub losses: Vec<f64>,
}

/// Trains every target from the same weights on the same data. Before each training, `progress` gets what it is.
///
/// # Errors
/// Errors of a device.
pub fn train_side_by_side(
    entrants: &[TrainingOptions],
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Losses>> {
    let of = entrants.len();
    (1..)
        .zip(entrants)
        .map(|(number, options)| {
            let (target, steps, seed) =
                (options.target, options.flags.num_steps, options.flags.seed);
            progress(&format!("{steps} steps of {target}, {number} of {of}"));
            let weights = Weights::small(&options.config, seed);
            let mut data = Data::synthetic(&options.config, seed);
            let device = super::open(options)?;
            let mut engine = device.engine(options, &weights)?;
            let losses = (0..steps)
                .map(|_| Ok(engine.step(&data.next_batch(), Synchronize::Step)?.loss))
                .collect::<Result<_>>()?;
            Ok(Losses { target, losses })
        })
        .collect()
}

/// Returns the largest relative difference between two series over their steps; infinite if a value is not finite.
pub fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let pairs = a.iter().zip(b);
    let differences = pairs.map(|(a, b)| relative_difference(&[*a], &[*b]));
    differences.fold(0.0, f64::max)
}
