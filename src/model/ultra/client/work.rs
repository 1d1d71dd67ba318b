//! Carrying out one operation of the schedule with burn's tensors and this project's kernels.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use anyhow::{Result, bail};
use burn::tensor::{Device, FloatDType, IndexingUpdateOp, Tensor, TensorData};
use tinyllama_kernels::binding::{self, AdamW, AttentionSizes, KeyValueLayout};
use tinyllama_kernels::{adamw, rope};

use super::ClientOptions;
use super::tensors::Tensors;
use crate::model::ultra::ROTARY_BASE;
use crate::model::ultra::buffers::Handle;
use crate::model::ultra::executor::Hyperparameters;
use crate::model::ultra::layout::{Layout, ParameterIndex};
use crate::model::ultra::operation::{Operation, Product};
use crate::model::ultra::schedule::{LOSS_RING, Node, Phase, Schedule};
use crate::model::{LibraryKernels, ModelConfig, NORM_EPSILON, Part, part};

/// What operations work on.
pub struct Work {
    device: Device,
    options: ClientOptions,
    hyperparameters: Hyperparameters,
    config: ModelConfig,
    layout: Layout,
    pub tensors: Tensors,
    /// Cosine and sine of each position and pair, `[S, d/2, 2]`.
    rotary: Tensor<3>,
    /// Both moments and the count of updates, by the first element that an update covers.
    updates: BTreeMap<usize, AdamW>,
    /// Of the last runs, still on the device: `[1]` each, [`LOSS_RING`] at most.
    pub losses: VecDeque<Tensor<1>>,
}

impl Work {
    pub fn new(
        device: Device,
        schedule: &Schedule,
        hyperparameters: Hyperparameters,
        options: ClientOptions,
    ) -> Work {
        Work {
            rotary: rotary(&schedule.config, &device),
            device,
            options,
            hyperparameters,
            config: schedule.config,
            layout: schedule.layout.clone(),
            tensors: Tensors::default(),
            updates: BTreeMap::new(),
            losses: VecDeque::new(),
        }
    }

    /// Goes on with another batch size or sequence length: parameters and moments stay.
    pub fn reshape(&mut self, schedule: &Schedule) {
        self.config = schedule.config;
        self.rotary = rotary(&schedule.config, &self.device);
        self.tensors.keep_weights();
        self.losses.clear();
    }

    /// Forgets the moments and starts counting updates anew.
    pub fn forget_updates(&mut self) {
        self.updates.clear();
    }

    /// Hands a node to burn, under the name that observed launches go by.
    pub fn carry_out(&mut self, node: &Node) -> Result<()> {
        let _part = part::enter(match (node.phase, &node.operation) {
            (Phase::Forward, Operation::Normalize { .. }) => Part::Norm,
            (Phase::Forward, _) => node.part,
            (Phase::Backward, _) => Part::Backward,
            (Phase::Optimizer, _) => Part::Optimizer,
        });
        self.make_room(&node.operation);
        self.compute(&node.operation)
    }

    /// What is about to be written anew gives its memory back, so that the pool can hand the same out again.
    fn make_room(&mut self, operation: &Operation) {
        let kept = operation.reads();
        match operation {
            // Written by what came before.
            Operation::FinishNorms { .. } | Operation::Update { .. } => {}
            _ => {
                for handle in operation.writes() {
                    if !kept.contains(&handle) {
                        self.tensors.release(handle);
                    }
                }
            }
        }
    }

    fn compute(&mut self, operation: &Operation) -> Result<()> {
        let epsilon = NORM_EPSILON as f32;
        let tensors = &mut self.tensors;
        match operation {
            // The kernels find a row's scale again where they need it: nothing is kept in its buffer.
            Operation::Lookup {
                tokens,
                table,
                stream,
                weight,
                normed,
                scale: _,
            } => {
                let table = tensors.matrices.get(*table)?;
                let rows = table.select(0, tensors.integers.get(*tokens)?);
                tensors.matrices.put(*stream, rows.clone());
                let _part = part::enter(Part::Norm);
                let weight = tensors.vectors.get(*weight)?;
                let rows = binding::rms_norm(rows, weight, epsilon);
                tensors.matrices.put(*normed, rows);
            }
            Operation::Normalize {
                stream,
                weight,
                normed,
                scale: _,
            } => {
                let (x, weight) = (
                    tensors.matrices.get(*stream)?,
                    tensors.vectors.get(*weight)?,
                );
                let rows = binding::rms_norm(x, weight, epsilon);
                tensors.matrices.put(*normed, rows);
            }
            Operation::Product(product) => self.product(product)?,
            Operation::WeightGradients(products) => {
                for product in products {
                    self.product(product)?;
                }
            }
            // The kernel turns queries and keys where they are, and its gradient wants them turned.
            Operation::Attention {
                qkv,
                mixed,
                log_sums,
            } => {
                let sizes = sizes(&self.config);
                let (output, turned, sums) = binding::rotary_attention_saved(
                    tensors.matrices.take(*qkv)?,
                    self.rotary.clone(),
                    sizes,
                    KeyValueLayout::Shared,
                );
                tensors.matrices.put(*mixed, output);
                tensors.matrices.put(*qkv, turned);
                tensors.log_sums.put(*log_sums, sums);
            }
            Operation::AttentionBackward {
                qkv,
                mixed,
                log_sums,
                mixed_gradient,
                qkv_gradient,
            } => {
                let gradient = binding::rotary_attention_gradient(
                    tensors.matrices.get(*qkv)?,
                    self.rotary.clone(),
                    tensors.matrices.get(*mixed)?,
                    tensors.log_sums.get(*log_sums)?,
                    tensors.matrices.get(*mixed_gradient)?,
                    sizes(&self.config),
                    KeyValueLayout::Shared,
                );
                tensors.matrices.put(*qkv_gradient, gradient);
            }
            Operation::Activate { gate_up, activated } => {
                let rows = binding::swiglu(tensors.matrices.get(*gate_up)?);
                tensors.matrices.put(*activated, rows);
            }
            Operation::ActivateBackward {
                gate_up,
                activated_gradient,
            } => {
                let gradient = tensors.matrices.get(*activated_gradient)?;
                let both = binding::swiglu_gradient(tensors.matrices.take(*gate_up)?, gradient);
                tensors.matrices.put(*gate_up, both);
            }
            // The kernel averages the tokens' losses too: their buffer holds one number.
            Operation::CrossEntropy {
                logits,
                targets,
                losses,
                logits_gradient,
            } => {
                let (loss, gradient) = binding::cross_entropy_with_gradient(
                    tensors.matrices.get(*logits)?,
                    tensors.integers.get(*targets)?,
                );
                tensors.vectors.put(*losses, loss);
                tensors.matrices.put(*logits_gradient, gradient);
            }
            // The kernel leaves the whole sum of the weight's gradient, not parts of it.
            Operation::NormalizeBackward {
                normed_gradient,
                stream,
                scale: _,
                weight,
                stream_gradient,
                first,
                copy,
                partials: _,
                norm,
            } => {
                let matrices = &mut tensors.matrices;
                let (x, gradient) = (matrices.get(*stream)?, matrices.get(*normed_gradient)?);
                let weight = tensors.vectors.get(*weight)?;
                let (sum, of_weight) = if *first {
                    binding::rms_norm_gradient(x, weight, gradient, epsilon)
                } else {
                    let passed = matrices.take(*stream_gradient)?;
                    binding::rms_norm_gradient_onto(x, weight, gradient, passed, epsilon)
                };
                if let Some(copy) = copy {
                    tensors.matrices.put(*copy, sum.clone());
                }
                tensors.matrices.put(*stream_gradient, sum);
                let gradient = Handle::Gradient(self.layout.norm(*norm));
                tensors.vectors.put(gradient, of_weight);
            }
            Operation::FinishNorms { .. } => {}
            Operation::Scatter {
                tokens,
                stream_gradient,
                table_gradient,
            } => {
                let rows = tensors.matrices.get(*stream_gradient)?;
                let tokens = tensors.integers.get(*tokens)?;
                let table = tensors.matrices.take(*table_gradient)?;
                let table = table.select_assign(0, tokens, rows, IndexingUpdateOp::Add);
                tensors.matrices.put(*table_gradient, table);
            }
            Operation::FinishLoss { losses, ring: _ } => {
                if self.losses.len() == LOSS_RING {
                    self.losses.pop_front();
                }
                self.losses.push_back(tensors.vectors.get(*losses)?);
            }
            // Whoever updates counts its updates.
            Operation::Advance { .. } => {}
            Operation::Update {
                elements, weights, ..
            } => self.update(elements, weights)?,
        }
        Ok(())
    }

    fn product(&mut self, product: &Product) -> Result<()> {
        let matrices = &mut self.tensors.matrices;
        let stored = |matrix: Tensor<2>, transposed: bool| match transposed {
            true => matrix.transpose(),
            false => matrix,
        };
        let a = stored(matrices.get(product.a)?, product.a_transposed);
        let b = stored(matrices.get(product.b)?, product.b_transposed);
        let multiply = match self.options.library {
            LibraryKernels::Tuned => Tensor::matmul,
            LibraryKernels::Plain => binding::plain_product,
        };
        let result = match self.options.operands {
            FloatDType::F32 => multiply(a, b),
            operands => multiply(a.cast(operands), b.cast(operands)).cast(FloatDType::F32),
        };
        let result = match product.addend {
            Some(addend) => result + matrices.get(addend)?,
            None => result,
        };
        matrices.put(product.out, result);
        Ok(())
    }

    /// One launch over the parameters of `elements`, which are moved there and back: with one owner each they are
    /// updated in place.
    fn update(&mut self, elements: &Range<usize>, weights: &[Handle]) -> Result<()> {
        let mut parameters = Vec::with_capacity(weights.len());
        for handle in weights {
            let Handle::Weight(index) = *handle else {
                bail!("{handle:?} is updated and is no parameter");
            };
            let (value, gradient) = if self.is_norm(index) {
                let vectors = &mut self.tensors.vectors;
                (
                    vectors.take(*handle)?,
                    vectors.get(Handle::Gradient(index))?,
                )
            } else {
                let matrices = &mut self.tensors.matrices;
                let flat = |matrix: Tensor<2>| matrix.flatten(0, 1);
                let value = flat(matrices.take(*handle)?);
                (value, flat(matrices.get(Handle::Gradient(index))?))
            };
            parameters.push((value, gradient));
        }
        let hyper = self.hyperparameters;
        let adamw = self.updates.entry(elements.start).or_insert_with(|| {
            AdamW::new(adamw::Hyperparameters {
                learning_rate: hyper.learning_rate,
                beta1: hyper.beta1,
                beta2: hyper.beta2,
                epsilon: hyper.epsilon,
                weight_decay: hyper.weight_decay,
            })
        });
        for (handle, value) in weights.iter().zip(adamw.step(parameters)) {
            self.put_parameter(*handle, value);
        }
        Ok(())
    }

    fn is_norm(&self, index: ParameterIndex) -> bool {
        index >= self.layout.norm(0)
    }

    /// A parameter or its gradient, flat.
    pub fn parameter(&self, handle: Handle) -> Result<Tensor<1>> {
        match handle {
            Handle::Weight(index) | Handle::Gradient(index) if self.is_norm(index) => {
                self.tensors.vectors.get(handle)
            }
            _ => Ok(self.tensors.matrices.get(handle)?.flatten(0, 1)),
        }
    }

    /// Puts a flat parameter in its place.
    fn put_parameter(&mut self, handle: Handle, value: Tensor<1>) {
        let (Handle::Weight(index) | Handle::Gradient(index)) = handle else {
            return;
        };
        if self.is_norm(index) {
            self.tensors.vectors.put(handle, value);
        } else if let Some(parameter) = self.layout.parameters.get(index) {
            let matrix = value.reshape([parameter.rows, parameter.columns]);
            self.tensors.matrices.put(handle, matrix);
        }
    }

    /// Replaces all parameters by `values` in the layout's order.
    pub fn set_weights(&mut self, values: &[f32]) {
        for index in 0..self.layout.parameters.len() {
            let range = self.layout.parameters[index].range();
            let data = TensorData::new(values[range.clone()].to_vec(), [range.len()]);
            let value = Tensor::from_data(data, &self.device);
            self.put_parameter(Handle::Weight(index), value);
        }
    }
}

fn rotary(config: &ModelConfig, device: &Device) -> Tensor<3> {
    let (length, head_dim) = (config.sequence_length, config.head_dim());
    let table = rope::table(length, head_dim, ROTARY_BASE);
    Tensor::from_data(TensorData::new(table, [length, head_dim / 2, 2]), device)
}

fn sizes(config: &ModelConfig) -> AttentionSizes {
    AttentionSizes {
        batch: config.batch_size,
        sequence: config.sequence_length,
        heads: config.heads,
        key_heads: config.kv_heads,
        head_dim: config.head_dim(),
    }
}
