//! Executes one operation of the schedule with burn's tensors and this project's kernels.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use anyhow::{Context as _, Result, bail};
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use tinyllama_kernel_catalog::adamw::Hyperparameters;
use tinyllama_kernel_catalog::flash_attention::AttentionShape;
use tinyllama_kernels::adamw::AdamW;
use tinyllama_kernels::binding::product as multiply;
use tinyllama_kernels::flash_attention::{self, KeyValueLayout};
use tinyllama_kernels::{cross_entropy, embedding, rmsnorm, swiglu};

use super::ClientOptions;
use super::tensors::Tensors;
use crate::model::{ModelConfig, NORM_EPSILON, Part, attention_shape, part, rotary_table};
use crate::targets::v4::buffers::BufferHandle;
use crate::targets::v4::layout::{ParameterIndex, ParameterLayout};
use crate::targets::v4::operation::{
    Attention, AttentionBackward, MatrixProduct, NormalizeBackward, Operation,
};
use crate::targets::v4::schedule::{LOSS_RING, Node, Schedule};

/// The tensors and state on which operations work.
pub struct Interpreter {
    pub device: Device,
    pub options: ClientOptions,
    hyperparameters: Hyperparameters,
    shape: AttentionShape,
    layout: ParameterLayout,
    pub tensors: Tensors,
    /// Cosine and sine of each position and pair, `[S, d/2, 2]`.
    rotary: Tensor<3>,
    /// Both moments and the count of updates. The key is the first element that an update covers.
    updates: BTreeMap<usize, AdamW>,
    /// The first elements that updates cover.
    update_starts: Vec<usize>,
    /// True if the updates of this run count already.
    pub has_advanced: bool,
    /// Losses of the last runs, still on the device: `[1]` each, at most [`LOSS_RING`].
    pub losses: VecDeque<Tensor<1>>,
}

impl Interpreter {
    pub fn new(
        device: Device,
        schedule: &Schedule,
        hyperparameters: Hyperparameters,
        options: ClientOptions,
    ) -> Interpreter {
        Interpreter {
            rotary: rotary(&schedule.config, &device),
            device,
            options,
            hyperparameters,
            shape: shape(&schedule.config),
            layout: schedule.layout.clone(),
            tensors: Tensors::default(),
            updates: BTreeMap::new(),
            update_starts: update_starts(schedule),
            has_advanced: false,
            losses: VecDeque::new(),
        }
    }

    /// Executes a node through burn. Observed launches carry the node's name.
    pub fn run_node(&mut self, node: &Node) -> Result<()> {
        let _part = part::enter(node.counted_part());
        self.release_outputs(&node.operation);
        self.compute(&node.operation)
    }

    /// Frees arrays that the operation is about to write, so that the pool can reuse their memory.
    fn release_outputs(&mut self, operation: &Operation) {
        let kept = operation.reads();
        match operation {
            // Earlier operations have already written these.
            Operation::FinishNorms(_) | Operation::UpdateOperation(_) => {}
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
            // The kernels compute a row's scale again when they need it, so its buffer stays empty.
            Operation::Lookup(op) => {
                let table = tensors.matrices.get(op.table)?;
                let rows = table.select(0, tensors.integers.get(op.tokens)?);
                tensors.matrices.put(op.stream, rows.clone());
                let _part = part::enter(Part::Norm);
                let rows = rmsnorm::rms_norm(rows, tensors.vectors.get(op.weight)?, epsilon);
                tensors.matrices.put(op.normed, rows);
            }
            Operation::Normalize(op) => {
                let stream = tensors.matrices.get(op.stream)?;
                let rows = rmsnorm::rms_norm(stream, tensors.vectors.get(op.weight)?, epsilon);
                tensors.matrices.put(op.normed, rows);
            }
            Operation::MatrixProduct(_) | Operation::WeightGradients(_) => {
                for product in operation.products() {
                    self.product(product)?;
                }
            }
            Operation::Attention(op) => self.attend(op)?,
            Operation::AttentionBackward(op) => self.attend_backward(op)?,
            Operation::Activate(op) => {
                let rows = swiglu::swiglu(tensors.matrices.get(op.gate_up)?);
                tensors.matrices.put(op.activated, rows);
            }
            Operation::ActivateBackward(op) => {
                let gradient = tensors.matrices.get(op.activated_gradient)?;
                let both = swiglu::swiglu_gradient(tensors.matrices.take(op.gate_up)?, gradient);
                tensors.matrices.put(op.gate_up, both);
            }
            // The kernel also averages the tokens' losses, so their buffer holds one number.
            Operation::CrossEntropy(op) => {
                let (loss, gradient) = cross_entropy::cross_entropy_with_gradient(
                    tensors.matrices.get(op.logits)?,
                    tensors.integers.get(op.targets)?,
                );
                tensors.vectors.put(op.losses, loss);
                tensors.matrices.put(op.logits_gradient, gradient);
            }
            Operation::NormalizeBackward(op) => self.normalize_backward(op)?,
            Operation::FinishNorms(_) => {}
            Operation::Scatter(op) => {
                let rows = tensors.matrices.get(op.stream_gradient)?;
                let tokens = tensors.integers.get(op.tokens)?;
                let table = tensors.matrices.take(op.table_gradient)?;
                let [vocabulary, _] = table.dims();
                let table = table + embedding::embedding_gradient(rows, tokens, vocabulary);
                tensors.matrices.put(op.table_gradient, table);
            }
            Operation::FinishLoss(op) => {
                if self.losses.len() == LOSS_RING {
                    self.losses.pop_front();
                }
                self.losses.push_back(tensors.vectors.get(op.losses)?);
            }
            Operation::Sum(_) | Operation::Gather(_) => {
                bail!("sums over ranks go through a driver")
            }
            Operation::Advance(_) => {
                if !std::mem::take(&mut self.has_advanced) {
                    self.advance()?;
                    self.has_advanced = false;
                }
            }
            Operation::UpdateOperation(op) => self.update(&op.elements, &op.weights)?,
        }
        Ok(())
    }

    /// The kernel rotates queries and keys on the fly, but its gradient needs them rotated in memory.
    fn attend(&mut self, op: &Attention) -> Result<()> {
        let tensors = &mut self.tensors;
        let (output, turned, sums) = flash_attention::rotary_attention_saved(
            tensors.matrices.take(op.qkv)?,
            self.rotary.clone(),
            self.shape,
            KeyValueLayout::Shared,
        );
        tensors.matrices.put(op.mixed, output);
        tensors.matrices.put(op.qkv, turned);
        tensors.log_sums.put(op.log_sums, sums);
        Ok(())
    }

    fn attend_backward(&mut self, op: &AttentionBackward) -> Result<()> {
        let matrices = &mut self.tensors.matrices;
        let gradient = flash_attention::rotary_attention_gradient(
            matrices.get(op.qkv)?,
            self.rotary.clone(),
            matrices.get(op.mixed)?,
            self.tensors.log_sums.get(op.log_sums)?,
            matrices.get(op.mixed_gradient)?,
            self.shape,
            KeyValueLayout::Shared,
        );
        matrices.put(op.qkv_gradient, gradient);
        Ok(())
    }

    /// The kernel returns the whole sum of the weight's gradient instead of partial sums.
    fn normalize_backward(&mut self, op: &NormalizeBackward) -> Result<()> {
        let (matrices, vectors) = (&mut self.tensors.matrices, &mut self.tensors.vectors);
        let (x, gradient) = (matrices.get(op.stream)?, matrices.get(op.normed_gradient)?);
        let weight = vectors.get(op.weight)?;
        let epsilon = NORM_EPSILON as f32;
        let (sum, of_weight) = if op.first {
            rmsnorm::rms_norm_gradient(x, weight, gradient, epsilon)
        } else {
            let passed = matrices.take(op.stream_gradient)?;
            rmsnorm::rms_norm_gradient_onto(x, weight, gradient, passed, epsilon)
        };
        if let Some(copy) = op.copy {
            matrices.put(copy, sum.clone());
        }
        matrices.put(op.stream_gradient, sum);
        let gradient = BufferHandle::Gradient(self.layout.norm(op.norm));
        vectors.put(gradient, of_weight);
        Ok(())
    }

    fn product(&mut self, product: &MatrixProduct) -> Result<()> {
        let matrices = &mut self.tensors.matrices;
        let stored = |matrix: Tensor<2>, transposed: bool| match transposed {
            true => matrix.transpose(),
            false => matrix,
        };
        let a = stored(matrices.get(product.a)?, product.a_transposed);
        let b = stored(matrices.get(product.b)?, product.b_transposed);
        let choice = self.options.library;
        let result = match self.options.operands {
            FloatDType::F32 => multiply(a, b, choice),
            operands => multiply(a.cast(operands), b.cast(operands), choice).cast(FloatDType::F32),
        };
        let result = match product.addend {
            Some(addend) => result + matrices.get(addend)?,
            None => result,
        };
        matrices.put(product.out, result);
        Ok(())
    }

    /// Updates the parameters of `elements` in one launch. They are moved there and back: with one owner each, they are
    /// updated in place.
    fn update(&mut self, elements: &Range<usize>, weights: &[BufferHandle]) -> Result<()> {
        let mut parameters = Vec::with_capacity(weights.len());
        for handle in weights {
            let BufferHandle::Weight(index) = *handle else {
                bail!("{handle:?} is updated and is not a parameter");
            };
            let (value, gradient) = if self.is_norm(index) {
                let vectors = &mut self.tensors.vectors;
                (
                    vectors.take(*handle)?,
                    vectors.get(BufferHandle::Gradient(index))?,
                )
            } else {
                let matrices = &mut self.tensors.matrices;
                let flat = |matrix: Tensor<2>| matrix.flatten(0, 1);
                let value = flat(matrices.take(*handle)?);
                (value, flat(matrices.get(BufferHandle::Gradient(index))?))
            };
            parameters.push((value, gradient));
        }
        let adamw = self.updates.get_mut(&elements.start);
        let adamw = adamw.context("an update of parameters that were never set")?;
        for (handle, value) in weights.iter().zip(adamw.step(parameters)) {
            self.put_parameter(*handle, value);
        }
        Ok(())
    }

    /// Begins the next update of all parameters.
    pub fn advance(&mut self) -> Result<()> {
        self.has_advanced = true;
        Ok(self.updates.values_mut().try_for_each(AdamW::advance)?)
    }

    /// Returns whether an update since the last call went to a copy of its parameter.
    pub fn take_copied(&self) -> bool {
        self.updates
            .values()
            .fold(false, |copied, adamw| adamw.take_copied() | copied)
    }

    fn is_norm(&self, index: ParameterIndex) -> bool {
        index >= self.layout.norm(0)
    }

    /// Returns a parameter or its gradient, flat.
    pub fn parameter(&self, handle: BufferHandle) -> Result<Tensor<1>> {
        match handle {
            BufferHandle::Weight(index) | BufferHandle::Gradient(index) if self.is_norm(index) => {
                self.tensors.vectors.get(handle)
            }
            _ => Ok(self.tensors.matrices.get(handle)?.flatten(0, 1)),
        }
    }

    /// Stores a flat parameter in its place.
    fn put_parameter(&mut self, handle: BufferHandle, value: Tensor<1>) {
        let (BufferHandle::Weight(index) | BufferHandle::Gradient(index)) = handle else {
            return;
        };
        if self.is_norm(index) {
            self.tensors.vectors.put(handle, value);
        } else if let Some(parameter) = self.layout.parameters.get(index) {
            let matrix = value.reshape([parameter.rows, parameter.columns]);
            self.tensors.matrices.put(handle, matrix);
        }
    }

    /// Replaces all parameters by `values` in the layout's order, clears the moments and restarts the count of updates.
    pub fn set_weights(&mut self, values: &[f32]) {
        let hyper = self.hyperparameters;
        let new = |start: &usize| {
            let for_graph = self
                .options
                .graph
                .then(|| AdamW::for_graph(hyper, &self.device));
            let adamw = for_graph.flatten().unwrap_or_else(|| AdamW::new(hyper));
            (*start, adamw)
        };
        self.updates = self.update_starts.iter().map(new).collect();
        for index in 0..self.layout.parameters.len() {
            let range = self.layout.parameters[index].range();
            let data = TensorData::new(values[range.clone()].to_vec(), [range.len()]);
            let value = Tensor::from_data(data, &self.device);
            self.put_parameter(BufferHandle::Weight(index), value);
        }
    }
}

fn update_starts(schedule: &Schedule) -> Vec<usize> {
    let operations = schedule.nodes.iter().map(|node| &node.operation);
    let start = |operation: &Operation| match operation {
        Operation::UpdateOperation(op) => Some(op.elements.start),
        _ => None,
    };
    operations.filter_map(start).collect()
}

fn rotary(config: &ModelConfig, device: &Device) -> Tensor<3> {
    let shape = [config.sequence_length, config.head_dim() / 2, 2];
    Tensor::from_data(TensorData::new(rotary_table(config), shape), device)
}

fn shape(config: &ModelConfig) -> AttentionShape {
    attention_shape(config, [config.batch_size, config.sequence_length])
}
