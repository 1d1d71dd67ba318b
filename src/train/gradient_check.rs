//! Comparing targets with each other and with a reference in f64.

use anyhow::{Context as _, Result, bail};
use burn::optim::GradientsParams;
use burn::tensor::{Device, FloatDType, Tensor};
use serde::Serialize;

use super::Options;
use super::data::Data;
use super::trainer::{DeviceBatch, Synchronize, Trainer};
use super::ultra::UltraDevice;
use crate::device::OpenDevice;
use crate::model::ultra::Wait;
use crate::model::{
    Context, LibraryKernels, Llama, ModelConfig, Precision, Recipe, Target, Weights,
};

/// One target's loss and gradients beside the reference's.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub target: String,
    /// |a-b|/|b|.
    pub loss_difference: f64,
    /// Tensors that received a gradient, of `tensors`.
    pub with_gradient: usize,
    pub tensors: usize,
    /// Largest ‖a-b‖/‖b‖ of a parameter.
    pub worst_difference: f64,
    pub worst_parameter: String,
}

impl Comparison {
    /// Whether everything is within `tolerance`; what is not finite never is.
    pub fn passes(&self, tolerance: f64) -> bool {
        self.with_gradient == self.tensors
            && self.loss_difference <= tolerance
            && self.worst_difference <= tolerance
    }
}

/// Largest relative difference that rounding explains.
///
/// f32 keeps 24 bits: sums over some thousand terms stay within 1e-4. On GPUs the library's fast products may round their
/// operands to tf32's 11 bits, which shows as some 1e-3 per product and up to 1e-2 through several layers; its plain ones
/// round nothing. bf16 keeps 8 bits: 2⁻⁹ per rounding, up to 5e-2 through the layers.
pub fn tolerance(operands: FloatDType, open: &OpenDevice, library: LibraryKernels) -> f64 {
    match operands {
        FloatDType::BF16 => 5e-2,
        FloatDType::F16 => 1e-2,
        _ if rounds(open, library) => 1e-2,
        _ => 1e-4,
    }
}

/// Largest relative difference between losses of two trainings: rounding of ten steps, each fed by the one before.
pub fn training_tolerance(operands: FloatDType, open: &OpenDevice, library: LibraryKernels) -> f64 {
    match operands {
        FloatDType::F32 if !open.backend.is_asynchronous() => 1e-5,
        FloatDType::F32 if !rounds(open, library) => 1e-4,
        FloatDType::F32 => 1e-3,
        _ => 1e-2,
    }
}

/// Whether products of f32 matrices may round their operands.
fn rounds(open: &OpenDevice, library: LibraryKernels) -> bool {
    open.backend.is_asynchronous() && library == LibraryKernels::Tuned
}

/// Loss and gradients of each recipe on `open`, from fresh weights and tokens of `seed`, against V1 in f64 on the CPU.
///
/// # Errors
/// What the device reports.
pub fn against_reference(
    recipes: &[(Target, Recipe)],
    config: &ModelConfig,
    operands: FloatDType,
    library: LibraryKernels,
    seed: u64,
    open: &OpenDevice,
) -> Result<Vec<Comparison>> {
    let weights = Weights::small(config, seed);
    let reference = reference(config, &weights, seed)?;
    recipes
        .iter()
        .map(|(target, recipe)| {
            let context = Context::new(
                *config,
                *recipe,
                Precision::with_operands(operands),
                &open.device,
            );
            let context = context.with_library(library);
            let result = evaluate(&context, &weights, seed, &open.device)
                .with_context(|| format!("{target} failed on {}", open.name))?;
            Ok(compare(target.to_string(), config, &result, &reference))
        })
        .collect()
}

/// The same for V4, on its own device.
///
/// # Errors
/// What the device reports.
pub fn ultra_against_reference(
    options: &Options,
    seed: u64,
    device: &UltraDevice,
) -> Result<Comparison> {
    let weights = Weights::small(&options.config, seed);
    let reference = reference(&options.config, &weights, seed)?;
    let batch = Data::synthetic(&options.config, seed).next_batch();
    let mut trainer = device.trainer(options, &weights)?;
    let (loss, gradients) = trainer
        .gradients(&batch.tokens, &batch.targets)
        .with_context(|| format!("v4 failed on {}", device.facts.name))?;
    let result = Evaluation {
        loss: f64::from(loss),
        gradients: gradients
            .into_iter()
            .map(|(name, values)| (name, Some(values.into_iter().map(f64::from).collect())))
            .collect(),
    };
    let name = Target::V4.to_string();
    Ok(compare(name, &options.config, &result, &reference))
}

/// V1 in f64 on the CPU.
fn reference(config: &ModelConfig, weights: &Weights, seed: u64) -> Result<Evaluation> {
    let device = Device::flex();
    let context = Context::new(
        *config,
        Target::V1.recipe(),
        Precision::reference(),
        &device,
    );
    evaluate(&context, weights, seed, &device).context("the reference failed")
}

/// A loss and the gradients by name; `None` for a parameter that got none.
struct Evaluation {
    loss: f64,
    gradients: Vec<(String, Option<Vec<f64>>)>,
}

fn evaluate(
    context: &Context,
    weights: &Weights,
    seed: u64,
    device: &Device,
) -> Result<Evaluation> {
    let config = &context.config;
    let model = Llama::new(
        config,
        weights,
        &context.recipe,
        context.precision,
        &device.clone().autodiff(),
    );
    let batch = Data::synthetic(config, seed).next_batch();
    let batch = DeviceBatch::place(&batch, config, device);
    let loss = batch.loss(&model, context);
    let gradients = GradientsParams::from_grads(loss.clone().backward(), &model);
    let named = model
        .parameters()
        .into_iter()
        .map(|parameter| {
            let gradient = parameter.gradient(&gradients).map(to_host).transpose()?;
            Ok((parameter.name, gradient))
        })
        .collect::<Result<_>>()?;
    Ok(Evaluation {
        loss: to_host(loss.inner())?[0],
        gradients: named,
    })
}

fn to_host(tensor: Tensor<1>) -> Result<Vec<f64>> {
    Ok(tensor.try_into_data()?.iter::<f64>().collect())
}

fn compare(
    target: String,
    config: &ModelConfig,
    result: &Evaluation,
    reference: &Evaluation,
) -> Comparison {
    let mut comparison = Comparison {
        target,
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

/// The reference's gradient of `name`, put side by side where the target stores several matrices as one.
fn expected(name: &str, config: &ModelConfig, reference: &Evaluation) -> Vec<f64> {
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

/// ‖a-b‖/‖b‖; infinite where a value is not finite or the lengths differ.
pub fn relative_difference(a: &[f64], b: &[f64]) -> f64 {
    let difference = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let norm = b.iter().map(|b| b.powi(2)).sum::<f64>();
    if a.len() != b.len() || !difference.is_finite() || !norm.is_finite() {
        return f64::INFINITY;
    }
    if difference == 0.0 {
        0.0
    } else {
        (difference / norm).sqrt()
    }
}

/// The losses of one training.
#[derive(Clone, Debug)]
pub struct Losses {
    pub target: Target,
    pub losses: Vec<f64>,
}

/// Trains every target from the same weights on the same data.
///
/// # Errors
/// What the device reports, or no target at all.
pub fn train_side_by_side(
    recipes: &[(Target, Recipe)],
    options: &Options,
    library: LibraryKernels,
    open: &OpenDevice,
) -> Result<Vec<Losses>> {
    if recipes.is_empty() {
        bail!("there is no target to train");
    }
    let weights = Weights::small(&options.config, options.seed);
    recipes
        .iter()
        .map(|(target, recipe)| {
            let precision = Precision::with_operands(options.operand_dtype);
            let training_device = open.device.clone().autodiff();
            let model = Llama::new(
                &options.config,
                &weights,
                recipe,
                precision,
                &training_device,
            );
            let context = Context::new(options.config, *recipe, precision, &open.device);
            let context = context.with_library(library);
            let mut trainer = Trainer::new(
                open.device.clone(),
                model,
                context,
                options.learning_rate,
                options.weight_decay,
            );
            let mut data = Data::synthetic(&options.config, options.seed);
            let mut losses = Vec::new();
            for _ in 0..options.steps {
                let batch = trainer.place(&data.next_batch());
                let step = trainer.step(&batch, Synchronize::Step)?;
                losses.push(f64::from(step.loss.try_into_scalar::<f32>()?));
            }
            Ok(Losses {
                target: *target,
                losses,
            })
        })
        .collect()
}

/// Trains V4 the same way on its own device.
///
/// # Errors
/// What the device reports.
pub fn train_ultra(options: &Options, device: &UltraDevice) -> Result<Losses> {
    let weights = Weights::small(&options.config, options.seed);
    let mut trainer = device.trainer(options, &weights)?;
    let mut data = Data::synthetic(&options.config, options.seed);
    let mut losses = Vec::new();
    for _ in 0..options.steps {
        let batch = data.next_batch();
        let step = trainer.step(&batch.tokens, &batch.targets, Wait::Step)?;
        losses.push(step.loss.map_or(f64::NAN, f64::from));
    }
    Ok(Losses {
        target: Target::V4,
        losses,
    })
}

/// Largest relative difference between two series, step by step; infinite where one is not finite.
pub fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let differences = a
        .iter()
        .zip(b)
        .map(|(a, b)| relative_difference(&[*a], &[*b]));
    differences.fold(0.0, f64::max)
}
