//! Updates the parameters with burn's AdamW or with one launch over all of them.

use std::collections::VecDeque;

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, ExecutionError, Tensor};
use tinyllama_kernels::adamw::AdamW;

use crate::model::{Llama, Operations};
use crate::train::TrainingOptions;

/// AdamW in the form that the recipe selects.
pub enum Optimizer {
    Library {
        optimizer: Box<ModuleOptimizer>,
        learning_rate: f64,
    },
    Kernel(Box<KernelOptimizer>),
}

/// AdamW as one launch over all parameters.
pub struct KernelOptimizer {
    adamw: AdamW,
    /// Replaces a parameter while the optimizer holds it: `[1]`.
    placeholder: Tensor<1>,
}

impl Optimizer {
    /// Creates the optimizer. `device` holds the parameters and has autodiff on.
    pub fn new(options: &TrainingOptions, device: &Device) -> Self {
        let hyper = options.hyperparameters();
        // The library's factors are arguments, which a graph would repeat.
        let for_graph = options.graph.then(|| AdamW::for_graph(hyper, device));
        match (options.recipe.operations, for_graph.flatten()) {
            (Operations::Library, None) => Optimizer::Library {
                optimizer: Box::new(
                    AdamWConfig::new()
                        .with_beta_1(hyper.beta1 as f32)
                        .with_beta_2(hyper.beta2 as f32)
                        .with_weight_decay(options.weight_decay)
                        .with_epsilon(hyper.epsilon as f32)
                        .init(),
                ),
                learning_rate: hyper.learning_rate,
            },
            (_, adamw) => Optimizer::Kernel(Box::new(KernelOptimizer {
                adamw: adamw.unwrap_or_else(|| AdamW::new(hyper)),
                placeholder: Tensor::zeros([1], device),
            })),
        }
    }

    /// Begins the next step. Call it before each step, launched or replayed.
    pub fn advance(&mut self) -> Result<(), ExecutionError> {
        match self {
            Optimizer::Library { .. } => Ok(()),
            Optimizer::Kernel(kernel) => kernel.adamw.advance(),
        }
    }

    /// Returns whether an update since the last call went to a copy of its parameter.
    pub fn take_copied(&self) -> bool {
        matches!(self, Optimizer::Kernel(kernel) if kernel.adamw.take_copied())
    }

    /// Runs one step. `model` is moved through, so that its parameters have one owner and can be updated in place.
    pub fn step(&mut self, model: Llama, gradients: GradientsParams) -> Llama {
        match self {
            Optimizer::Library {
                optimizer,
                learning_rate,
            } => optimizer.step(*learning_rate, model, gradients),
            Optimizer::Kernel(kernel) => kernel.step(model, gradients),
        }
    }
}

impl KernelOptimizer {
    fn step(&mut self, model: Llama, gradients: GradientsParams) -> Llama {
        let mut take = TakeParameters {
            gradients,
            placeholder: self.placeholder.clone(),
            taken: Vec::new(),
        };
        let emptied = model.map(&mut take);
        let (places, parameters): (Vec<ParameterSlot>, Vec<_>) = take.taken.into_iter().unzip();
        let updated = self.adamw.step(parameters);
        emptied.map(&mut RestoreParameters(
            places.into_iter().zip(updated).collect(),
        ))
    }
}

/// The parameter to which a tensor belongs, and its shape.
struct ParameterSlot {
    id: ParamId,
    shape: Vec<usize>,
}

/// Takes every parameter with a gradient out of the model, flat and without autodiff.
struct TakeParameters {
    gradients: GradientsParams,
    placeholder: Tensor<1>,
    taken: Vec<(ParameterSlot, (Tensor<1>, Tensor<1>))>,
}

impl ModuleMapper for TakeParameters {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(gradient) = self.gradients.remove::<D>(param.id) else {
            return param;
        };
        let id = param.id;
        param.map(|value| {
            let shape = value.dims();
            let length = shape.iter().product::<usize>();
            let place = ParameterSlot {
                id,
                shape: shape.to_vec(),
            };
            let flat = value.inner().reshape([length]);
            self.taken.push((place, (flat, gradient.reshape([length]))));
            self.placeholder.clone().reshape([1; D])
        })
    }
}

/// Puts updated parameters back, in the order in which they were taken.
struct RestoreParameters(VecDeque<(ParameterSlot, Tensor<1>)>);

impl ModuleMapper for RestoreParameters {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let next = self.0.pop_front_if(|(place, _)| place.id == param.id);
        let Some((place, updated)) = next else {
            return param;
        };
        let shape: [usize; D] = std::array::from_fn(|i| place.shape[i]);
        param.map(|_| updated.reshape(shape).autodiff().require_grad())
    }
}
