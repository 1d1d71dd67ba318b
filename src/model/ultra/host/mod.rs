//! The schedule on the CPU in f32: vectorised, on all cores, and what the devices are held against.

mod attention;
mod elementwise;
mod exponential;
mod memory;
mod norm;
mod product;
mod vectors;

use std::time::Instant;

use anyhow::{Result, bail};
use tinyllama_kernels::rope;

use super::executor::{Executor, Hyperparameters, Launches, MemoryHeld, PhaseTimes, Span};
use super::operation::Operation;
use super::schedule::{LOSS_RING, Phase, Schedule};
use crate::model::NORM_EPSILON;
use crate::model::ultra::ROTARY_BASE;
use memory::Memory;
use norm::Norms;
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
}

impl HostExecutor {
    /// Parameters start at zero: set them before the first run.
    pub fn new(schedule: Schedule, hyperparameters: Hyperparameters) -> HostExecutor {
        HostExecutor {
            memory: Memory::new(&schedule),
            rotary: rotary(&schedule),
            schedule,
            hyperparameters,
            runs: 0,
            updates: 0,
        }
    }

    fn carry_out(&mut self, operation: &Operation) {
        let config = self.schedule.config;
        let norms = Norms {
            width: config.hidden,
            epsilon: NORM_EPSILON as f32,
        };
        let memory = &mut self.memory;
        match operation {
            Operation::Lookup {
                tokens,
                table,
                stream,
                weight,
                normed,
                scale,
            } => {
                memory.update(
                    [*stream, *normed, *scale],
                    |memory, [stream, normed, scale]| {
                        let tokens = memory.integers(*tokens);
                        elementwise::lookup(tokens, memory.read(*table), stream, config.hidden);
                        norms.forward(stream, memory.read(*weight), normed, scale);
                    },
                );
            }
            Operation::Normalize {
                stream,
                weight,
                normed,
                scale,
            } => memory.update([*normed, *scale], |memory, [normed, scale]| {
                norms.forward(memory.read(*stream), memory.read(*weight), normed, scale);
            }),
            Operation::Product(product) => memory.update([product.out], |memory, [out]| {
                if let Some(addend) = product.addend {
                    out.copy_from_slice(memory.read(addend));
                }
                product::product(product, memory.read(product.a), memory.read(product.b), out);
            }),
            Operation::WeightGradients(products) => {
                for product in products {
                    memory.update([product.out], |memory, [out]| {
                        product::product(
                            product,
                            memory.read(product.a),
                            memory.read(product.b),
                            out,
                        );
                    });
                }
            }
            Operation::Attention {
                qkv,
                mixed,
                log_sums,
            } => memory.update([*mixed, *log_sums], |memory, [mixed, log_sums]| {
                attention::forward(&config, &self.rotary, memory.read(*qkv), mixed, log_sums);
            }),
            Operation::AttentionBackward {
                qkv,
                mixed,
                log_sums,
                mixed_gradient,
                qkv_gradient,
            } => memory.update([*qkv_gradient], |memory, [qkv_gradient]| {
                let saved = attention::Saved {
                    qkv: memory.read(*qkv),
                    mixed: memory.read(*mixed),
                    log_sums: memory.read(*log_sums),
                    mixed_gradient: memory.read(*mixed_gradient),
                };
                attention::backward(&config, &self.rotary, &saved, qkv_gradient);
            }),
            Operation::Activate { gate_up, activated } => {
                memory.update([*activated], |memory, [activated]| {
                    elementwise::activate(memory.read(*gate_up), activated, config.ffn);
                });
            }
            Operation::ActivateBackward {
                gate_up,
                activated_gradient,
            } => memory.update([*gate_up], |memory, [gate_up]| {
                let gradient = memory.read(*activated_gradient);
                elementwise::activate_backward(gate_up, gradient, config.ffn);
            }),
            Operation::CrossEntropy {
                logits,
                targets,
                losses,
                logits_gradient,
            } => memory.update(
                [*losses, *logits_gradient],
                |memory, [losses, logits_gradient]| {
                    elementwise::cross_entropy(
                        memory.read(*logits),
                        memory.integers(*targets),
                        losses,
                        logits_gradient,
                    );
                },
            ),
            Operation::NormalizeBackward {
                normed_gradient,
                stream,
                scale,
                weight,
                stream_gradient,
                first,
                copy,
                partials,
                norm,
            } => {
                let rows = self.schedule.partials();
                let tokens = self.schedule.tokens_per_partial;
                memory.update(
                    [*stream_gradient, *partials],
                    |memory, [gradient, partials]| {
                        let here = norm * rows * norms.width;
                        norms.backward(
                            norm::Saved {
                                normed_gradient: memory.read(*normed_gradient),
                                x: memory.read(*stream),
                                scale: memory.read(*scale),
                                weight: memory.read(*weight),
                            },
                            gradient,
                            *first,
                            &mut partials[here..][..rows * norms.width],
                            tokens,
                        );
                    },
                );
                if let Some(copy) = copy {
                    memory.update([*copy], |memory, [copy]| {
                        copy.copy_from_slice(memory.read(*stream_gradient));
                    });
                }
            }
            Operation::FinishNorms {
                partials,
                gradients,
            } => {
                let rows = self.schedule.partials() * norms.width;
                for (norm, gradient) in gradients.iter().enumerate() {
                    memory.update([*gradient], |memory, [gradient]| {
                        let partials = &memory.read(*partials)[norm * rows..][..rows];
                        norms.sum_partials(partials, gradient);
                    });
                }
            }
            Operation::Scatter {
                tokens,
                stream_gradient,
                table_gradient,
            } => memory.update([*table_gradient], |memory, [table]| {
                let rows = memory.read(*stream_gradient).chunks_exact(config.hidden);
                for (token, row) in memory.integers(*tokens).iter().zip(rows) {
                    let at = *token as usize * config.hidden;
                    for (sum, value) in table[at..][..config.hidden].iter_mut().zip(row) {
                        *sum += value;
                    }
                }
            }),
            Operation::FinishLoss { losses, ring } => {
                let place = self.runs % LOSS_RING;
                memory.update([*ring], |memory, [ring]| {
                    let losses = memory.read(*losses);
                    let sum: f64 = losses.iter().map(|loss| f64::from(*loss)).sum();
                    ring[place] = (sum / losses.len() as f64) as f32;
                });
                self.runs += 1;
            }
            Operation::Advance { .. } => self.updates += 1,
            Operation::Update { elements, .. } => {
                memory.adamw(elements.clone(), &self.hyperparameters, self.updates);
            }
        }
    }

    fn carry_out_phase(&mut self, wanted: impl Fn(Phase) -> bool) -> u64 {
        let nodes = std::mem::take(&mut self.schedule.nodes);
        let mut launches = 0;
        for node in nodes.iter().filter(|node| wanted(node.phase)) {
            self.carry_out(&node.operation);
            launches += 1;
        }
        self.schedule.nodes = nodes;
        launches
    }
}

fn rotary(schedule: &Schedule) -> Vec<f32> {
    let config = &schedule.config;
    rope::table(config.sequence_length, config.head_dim(), ROTARY_BASE)
}

impl Executor for HostExecutor {
    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn operand_bytes(&self) -> usize {
        size_of::<f32>()
    }

    fn reshape(&mut self, schedule: Schedule) -> Result<()> {
        if schedule.layout != self.schedule.layout {
            bail!("only the batch size and the sequence length can change");
        }
        self.memory.reshape(&schedule);
        self.rotary = rotary(&schedule);
        self.schedule = schedule;
        self.runs = 0;
        Ok(())
    }

    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        self.memory.set_integers(self.schedule.tokens, tokens);
        self.memory.set_integers(self.schedule.targets, targets);
        Ok(())
    }

    fn run(&mut self, span: Span) -> Result<Launches> {
        Ok(Launches {
            host: self.carry_out_phase(|phase| span.contains(phase)),
            captured: 0,
        })
    }

    fn run_phases(&mut self) -> Result<(Launches, PhaseTimes)> {
        let mut launches = Launches::default();
        let mut timed = |phase: Phase| {
            let started = Instant::now();
            launches.host += self.carry_out_phase(|other| other == phase);
            started.elapsed().as_secs_f64() * 1e3
        };
        let times = PhaseTimes {
            forward: timed(Phase::Forward),
            backward: timed(Phase::Backward),
            optimizer: timed(Phase::Optimizer),
        };
        Ok((launches, times))
    }

    fn profile(&mut self) -> Result<Vec<f64>> {
        let nodes = std::mem::take(&mut self.schedule.nodes);
        let times = nodes
            .iter()
            .map(|node| {
                let started = Instant::now();
                self.carry_out(&node.operation);
                started.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        self.schedule.nodes = nodes;
        Ok(times)
    }

    fn wait(&mut self) -> Result<()> {
        Ok(())
    }

    fn last_losses(&mut self, count: usize) -> Result<Vec<f32>> {
        let ring = self.memory.read(self.schedule.losses);
        let first = self.runs - count.min(LOSS_RING).min(self.runs);
        Ok((first..self.runs)
            .map(|run| ring[run % LOSS_RING])
            .collect())
    }

    fn weights(&mut self) -> Result<Vec<f32>> {
        Ok(self.memory.weights().to_vec())
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        self.updates = 0;
        self.memory.set_weights(weights);
        Ok(())
    }

    fn gradients(&mut self) -> Result<Vec<f32>> {
        Ok(self.memory.gradients().to_vec())
    }

    fn logits(&mut self) -> Result<Vec<f32>> {
        Ok(self.memory.read(self.schedule.logits).to_vec())
    }

    fn memory(&self) -> Option<MemoryHeld> {
        let bytes = self.memory.bytes();
        Some(MemoryHeld {
            now: bytes,
            peak: bytes,
        })
    }

    fn captured(&self) -> Result<(), String> {
        Err("a CPU has no graphs".into())
    }
}
