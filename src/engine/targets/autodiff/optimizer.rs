//! Updates the parameters with burn's AdamW or with one launch over all of them.
//!
//! burn's CPU backend runs AdamW's operations on one core, so there it updates a parameter on each core.

use std::collections::VecDeque;

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::optim::{self, AdamWConfig, AdamWState, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, ExecutionError, Tensor};
use rayon::prelude::*;
use tinyllama_kernels::adamw::AdamW;

use crate::model::{Llama, Operations};
use crate::train::TrainingOptions;
use tinyllama_contract::WEIGHT_DECAY;

/// AdamW in the form that the recipe selects.
pub enum Optimizer {
    Library {
        optimizer: Box<ModuleOptimizer>,
        learning_rate: f64,
    },
    OnCores(Box<CoresOptimizer>),
    Kernel(Box<KernelOptimizer>),
}

/// burn's AdamW, parameter next to parameter on the cores of a CPU.
pub struct CoresOptimizer {
    adamw: optim::AdamW,
    learning_rate: f64,
    /// Moments of each parameter, in the order of the model's; empty before the first step.
    states: Vec<Option<AdamWState<1>>>,
    placeholder: Tensor<1>,
}

/// AdamW as one launch over all parameters.
pub struct KernelOptimizer {
    adamw: AdamW,
    /// Replaces a parameter while the optimizer holds it: `[1]`.
    placeholder: Tensor<1>,
}

impl Optimizer {
    /// Creates the optimizer. `device` holds the parameters and has autodiff on.
    pub fn new(options: &TrainingOptions, device: &Device, on_cpu: bool) -> Self {
        let hyper = options.hyperparameters();
        let placeholder = Tensor::zeros([1], device);
        // The library's factors are arguments, which a graph would repeat.
        let graph = options.flags.switches.graph.is_on();
        let for_graph = graph.then(|| AdamW::for_graph(hyper, device));
        match (options.recipe.operations, for_graph.flatten()) {
            (Operations::Library, None) => {
                let config = AdamWConfig::new()
                    .with_beta_1(hyper.beta1 as f32)
                    .with_beta_2(hyper.beta2 as f32)
                    .with_weight_decay(WEIGHT_DECAY)
                    .with_epsilon(hyper.epsilon as f32);
                let learning_rate = hyper.learning_rate;
                match on_cpu {
                    true => Optimizer::OnCores(Box::new(CoresOptimizer {
                        adamw: config.build(),
                        learning_rate,
                        states: vec![],
                        placeholder,
                    })),
                    false => Optimizer::Library {
                        optimizer: Box::new(config.init()),
                        learning_rate,
                    },
                }
            }
            (_, adamw) => Optimizer::Kernel(Box::new(KernelOptimizer {
                adamw: adamw.unwrap_or_else(|| AdamW::new(hyper)),
                placeholder,
            })),
        }
    }

    /// Begins the next step. Call it before each step, launched or replayed.
    pub fn advance(&mut self) -> Result<(), ExecutionError> {
        match self {
            Optimizer::Library { .. } | Optimizer::OnCores(_) => Ok(()),
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
            Optimizer::OnCores(cores) => cores.step(model, gradients),
            Optimizer::Kernel(kernel) => kernel.step(model, gradients),
        }
    }
}

impl CoresOptimizer {
    fn step(&mut self, model: Llama, gradients: GradientsParams) -> Llama {
        let (adamw, rate) = (&self.adamw, self.learning_rate);
        let states = &mut self.states;
        update_flat(&self.placeholder, model, gradients, |parameters| {
            states.resize(parameters.len(), None);
            let each = parameters.into_par_iter().zip(states).with_max_len(1);
            each.map(|((value, gradient), state)| {
                let (value, next) =
                    optim::Optimizer::step(adamw, rate, value, gradient, state.take());
                *state = next;
                value
            })
            .collect()
        })
    }
}

impl KernelOptimizer {
    fn step(&mut self, model: Llama, gradients: GradientsParams) -> Llama {
        let adamw = &mut self.adamw;
        update_flat(&self.placeholder, model, gradients, |parameters| {
            adamw.step(parameters)
        })
    }
}

/// Updates all parameters that have a gradient by `update`, which gets each flat with its gradient.
fn update_flat(
    placeholder: &Tensor<1>,
    model: Llama,
    gradients: GradientsParams,
    update: impl FnOnce(Vec<(Tensor<1>, Tensor<1>)>) -> Vec<Tensor<1>>,
) -> Llama {
    let mut take = TakeParameters {
        gradients,
        placeholder: placeholder.clone(),
        taken: Vec::new(),
    };
    let emptied = model.map(&mut take);
    let (places, parameters): (Vec<ParameterSlot>, Vec<_>) = take.taken.into_iter().unzip();
    let updated = update(parameters);
    emptied.map(&mut RestoreParameters(
        places.into_iter().zip(updated).collect(),
    ))
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
