//! Executes the schedule on the CPU in f32, by the kernels' forms there. Results of devices are compared with it.

mod memory;
mod product;

use anyhow::{Result, bail};
use rayon::prelude::*;
use tinyllama_kernel_catalog::adamw::{Factors, Hyperparameters};
use tinyllama_kernel_catalog::flash_attention::AttentionShape;
use tinyllama_kernel_catalog::rope::RopeShape;
use tinyllama_kernels::flash_attention::host::{self as attention, HeadValues, SavedAttention};
use tinyllama_kernels::rmsnorm::host::{NormRows, SavedNorm};
use tinyllama_kernels::{cross_entropy, rope, swiglu};

use super::executor::{Executor, NamedArrays};
use super::operation::{Attention, AttentionBackward, FinishNorms, NormalizeBackward, Operation};
use super::schedule::{LOSS_RING, Schedule, latest};
use crate::model::{NORM_EPSILON, attention_shape, rotary_table};
use crate::train::telemetry::PoolMemory;
use crate::train::{Arrays, KernelInPlace};
use memory::Memory;
pub use product::product;

/// Runs a schedule on this machine's cores.
pub struct HostExecutor {
    schedule: Schedule,
    memory: Memory,
    hyperparameters: Hyperparameters,
    /// Cosine and sine of each position and pair, `[S, d/2, 2]`.
    rotary: Vec<f32>,
    runs: usize,
    updates: u64,
    own: Vec<KernelInPlace>,
}

impl HostExecutor {
    /// Creates the executor. Parameters are zero: set them before the first run.
    pub fn new(schedule: Schedule, hyperparameters: Hyperparameters) -> HostExecutor {
        HostExecutor {
            memory: Memory::new(&schedule),
            rotary: rotary_table(&schedule.config),
            schedule,
            hyperparameters,
            runs: 0,
            updates: 0,
            own: vec![],
        }
    }

    /// Replaces operations by the kernels of `own` that do the same work.
    pub fn with_kernels(mut self, own: &[KernelInPlace]) -> HostExecutor {
        self.own = own.to_vec();
        self
    }

    /// Executes a node by a kernel of `own`, if one does its work; returns whether it did.
    fn by_own_kernel(&mut self, node: usize) -> Result<bool> {
        let operation = &self.schedule.nodes[node].operation;
        let place = operation.in_place(&self.schedule.config, 1);
        let mut all = self.own.iter();
        let own = all.find(|own| own.replaces == operation.name());
        let Some((place, own)) = place.as_ref().zip(own) else {
            return Ok(false);
        };
        let memory = &mut self.memory;
        let arrays = place.arrays.iter();
        let arrays = arrays.map(|(name, handle)| (*name, memory.bits(*handle)));
        let mut arrays: Arrays = arrays.collect();
        let updated = match operation {
            Operation::UpdateOperation(op) => Some(op.elements.clone()),
            _ => None,
        };
        if let Some(elements) = &updated {
            let factors = Factors::new(&self.hyperparameters, self.updates).to_array();
            arrays.insert("factors", factors.map(f32::to_bits).to_vec());
            for (name, array) in memory.of_update() {
                let bits = array[elements.clone()].iter().map(|value| value.to_bits());
                arrays.insert(name, bits.collect());
            }
        }
        let made = (own.on_host)(&place.sizes, place.number, arrays)?;
        let put = |array: &mut [f32], name: &str| {
            for (value, bits) in array.iter_mut().zip(made.get(name).into_iter().flatten()) {
                *value = f32::from_bits(*bits);
            }
        };
        for (name, handle) in &place.arrays {
            if made.contains_key(name) {
                memory.update([*handle], |_, [array]| put(array, name));
            }
        }
        if let Some(elements) = updated {
            for (name, array) in memory.of_update() {
                put(&mut array[elements.clone()], name);
            }
        }
        Ok(true)
    }
}

impl Executor for HostExecutor {
    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn operand_bytes(&self) -> usize {
        size_of::<f32>()
    }

    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        self.memory.set_integers(self.schedule.tokens, tokens);
        self.memory.set_integers(self.schedule.targets, targets);
        Ok(())
    }

    fn run_node(&mut self, node: usize) -> Result<()> {
        if !self.own.is_empty() && self.by_own_kernel(node)? {
            return Ok(());
        }
        let schedule = &self.schedule;
        let config = &schedule.config;
        let norms = NormRows {
            width: config.hidden,
            epsilon: NORM_EPSILON as f32,
        };
        let shape = attention_shape(config, [config.batch_size, config.sequence_length]);
        let memory = &mut self.memory;
        match &schedule.nodes[node].operation {
            Operation::Lookup(op) => memory.update(
                [op.stream, op.normed, op.scale],
                |memory, [stream, normed, scale]| {
                    let tokens = memory.integers(op.tokens);
                    lookup(tokens, memory.read(op.table), stream, config.hidden);
                    norms.forward(stream, memory.read(op.weight), normed, scale);
                },
            ),
            Operation::Normalize(op) => {
                memory.update([op.normed, op.scale], |memory, [normed, scale]| {
                    let (stream, weight) = (memory.read(op.stream), memory.read(op.weight));
                    norms.forward(stream, weight, normed, scale);
                });
            }
            operation @ (Operation::MatrixProduct(_) | Operation::WeightGradients(_)) => {
                for op in operation.products() {
                    memory.update([op.out], |memory, [out]| {
                        if let Some(addend) = op.addend {
                            copy(memory.read(addend), out);
                        }
                        product::product(op, memory.read(op.a), memory.read(op.b), out);
                    });
                }
            }
            Operation::Attention(op) => attend(memory, op, shape, &self.rotary),
            Operation::AttentionBackward(op) => attend_backward(memory, op, shape, &self.rotary),
            Operation::Activate(op) => memory.update([op.activated], |memory, [activated]| {
                swiglu::host::forward(memory.read(op.gate_up), activated, config.ffn);
            }),
            Operation::ActivateBackward(op) => memory.update([op.gate_up], |memory, [gate_up]| {
                let gradient = memory.read(op.activated_gradient);
                swiglu::host::backward(gate_up, gradient, config.ffn);
            }),
            Operation::CrossEntropy(op) => {
                let writes = [op.losses, op.logits_gradient];
                memory.update(writes, |memory, [losses, gradient]| {
                    let (logits, targets) = (memory.read(op.logits), memory.integers(op.targets));
                    let share = 1.0 / targets.len() as f32;
                    cross_entropy::host::rows(logits, targets, losses, gradient, share);
                });
            }
            Operation::NormalizeBackward(op) => normalize_backward(memory, op, norms, schedule),
            Operation::FinishNorms(op) => finish_norms(memory, op, norms, schedule),
            Operation::Scatter(op) => memory.update([op.table_gradient], |memory, [table]| {
                let (tokens, stream) =
                    (memory.integers(op.tokens), memory.read(op.stream_gradient));
                scatter(tokens, stream, table, config.hidden);
            }),
            Operation::FinishLoss(op) => {
                let place = self.runs % LOSS_RING;
                memory.update([op.ring], |memory, [ring]| {
                    ring[place] = cross_entropy::host::mean(memory.read(op.losses));
                });
                self.runs += 1;
            }
            Operation::Sum(_) | Operation::Gather(_) => bail!("sums over ranks are a GPU's"),
            Operation::Advance(_) => self.updates += 1,
            Operation::UpdateOperation(op) => {
                let factors = Factors::new(&self.hyperparameters, self.updates);
                memory.adamw(op.elements.clone(), &factors);
            }
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        Ok(())
    }

    fn last_losses(&mut self, count: usize) -> Result<Vec<f32>> {
        let ring = self.memory.read(self.schedule.losses);
        Ok(latest(ring, self.runs, count))
    }

    fn weights(&mut self) -> Result<Vec<f32>> {
        Ok(self.memory.weights.to_vec())
    }

    fn optimizer_state(&mut self) -> Result<NamedArrays> {
        let arrays = self.memory.of_update().into_iter();
        let state = arrays.filter(|(name, _)| *name != "gradients");
        Ok(state.map(|(name, array)| (name, array.clone())).collect())
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        self.updates = 0;
        self.memory.set_weights(weights);
        Ok(())
    }

    fn gradients(&mut self) -> Result<Vec<f32>> {
        Ok(self.memory.gradients.to_vec())
    }

    fn logits(&mut self) -> Result<Vec<f32>> {
        Ok(self.memory.read(self.schedule.logits).to_vec())
    }

    fn memory(&self) -> PoolMemory {
        let bytes = Some(self.memory.bytes());
        PoolMemory {
            in_use: bytes,
            reserved: bytes,
        }
    }

    fn captured(&self) -> Result<(), String> {
        Err("a CPU has no graphs".into())
    }
}

fn attend(memory: &mut Memory, op: &Attention, shape: AttentionShape, rotary: &[f32]) {
    let outputs = [op.rotated, op.mixed, op.log_sums];
    memory.update(outputs, |memory, [rotated, mixed, log_sums]| {
        let qkv = memory.read(op.qkv);
        rotate(shape, qkv, rotary, rotated);
        attention::forward(shape, inputs(shape, rotated, qkv), mixed, log_sums);
    });
}

fn attend_backward(
    memory: &mut Memory,
    op: &AttentionBackward,
    shape: AttentionShape,
    rotary: &[f32],
) {
    memory.update([op.qkv_gradient], |memory, [qkv_gradient]| {
        let (rotated, qkv) = (memory.read(op.rotated), memory.read(op.qkv));
        let saved = SavedAttention {
            query_key_value: inputs(shape, rotated, qkv),
            output: memory.read(op.mixed),
            log_sum_exp: memory.read(op.log_sums),
            output_gradient: memory.read(op.mixed_gradient),
        };
        attention::backward(shape, &saved, qkv_gradient);
        let whole = RopeShape::from_attention(shape);
        rope::host::turn(qkv_gradient, rotary, whole, true);
    });
}

fn normalize_backward(
    memory: &mut Memory,
    op: &NormalizeBackward,
    norms: NormRows,
    schedule: &Schedule,
) {
    let part = schedule.partials() * norms.width;
    let writes = [op.stream_gradient, op.partials];
    memory.update(writes, |memory, [gradient, partials]| {
        let saved = SavedNorm {
            y_gradient: memory.read(op.normed_gradient),
            x: memory.read(op.stream),
            scale: memory.read(op.scale),
            weight: memory.read(op.weight),
        };
        let partials = &mut partials[op.norm * part..][..part];
        let tokens = schedule.tokens_per_partial;
        norms.backward(saved, gradient, op.first, partials, tokens);
    });
    if let Some(copy) = op.copy {
        memory.update([copy], |memory, [copy]| {
            self::copy(memory.read(op.stream_gradient), copy);
        });
    }
}

fn finish_norms(memory: &mut Memory, op: &FinishNorms, norms: NormRows, schedule: &Schedule) {
    let part = schedule.partials() * norms.width;
    for (norm, gradient) in op.gradients.iter().enumerate() {
        memory.update([*gradient], |memory, [gradient]| {
            let partials = &memory.read(op.partials)[norm * part..][..part];
            norms.sum_partials(partials, gradient);
        });
    }
}

/// Adds each token's row of the stream's gradient to the table's row of that token.
fn scatter(tokens: &[i32], stream: &[f32], table: &mut [f32], width: usize) {
    for (token, row) in tokens.iter().zip(stream.chunks_exact(width)) {
        let at = *token as usize * width;
        for (sum, value) in table[at..][..width].iter_mut().zip(row) {
            *sum += value;
        }
    }
}

/// Copies the table's row of each token. Tokens must be within the table; the trainer checks them when it places a batch.
fn lookup(tokens: &[i32], table: &[f32], stream: &mut [f32], width: usize) {
    let rows = tokens.par_iter().zip(stream.par_chunks_exact_mut(width));
    rows.for_each(|(token, row)| row.copy_from_slice(&table[*token as usize * width..][..width]));
}

/// Values that one thread copies at a time.
const CHUNK: usize = 1 << 14;

fn copy(from: &[f32], to: &mut [f32]) {
    let chunks = to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK));
    chunks.for_each(|(to, from)| to.copy_from_slice(from));
}

/// Copies queries and keys of a fused projection to `rotated`, `[tokens, (heads + key_heads) head_dim]`, and rotates them.
fn rotate(shape: AttentionShape, qkv: &[f32], table: &[f32], rotated: &mut [f32]) {
    let heads = shape.heads + shape.key_heads;
    let width = heads * shape.head_dim;
    let rows = qkv.par_chunks_exact(shape.width());
    rows.zip(rotated.par_chunks_exact_mut(width))
        .for_each(|(row, rotated)| rotated.copy_from_slice(&row[..width]));
    let shape = RopeShape {
        heads,
        ..RopeShape::from_attention(shape)
    };
    rope::host::turn(rotated, table, shape, false);
}

/// Views rotated queries and keys, and values where the projection wrote them.
fn inputs<'a>(shape: AttentionShape, rotated: &'a [f32], qkv: &'a [f32]) -> [HeadValues<'a>; 3] {
    let (queries, both) = (shape.heads, shape.heads + shape.key_heads);
    let [keys, values] = [queries, both].map(|heads| heads * shape.head_dim);
    [
        HeadValues::rows(rotated, values, 0, shape),
        HeadValues::rows(rotated, values, keys, shape),
        HeadValues::rows(qkv, shape.width(), values, shape),
    ]
}
