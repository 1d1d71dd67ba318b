//! The schedule through burn's own client: any backend of this program, Vulkan included.
//!
//! No autodiff and no tape: every node becomes an operation on burn's tensors, products by burn's library (cubek on a
//! GPU), everything else by this project's kernels. The client queues what it is handed, may fuse neighbours, and takes
//! memory from its pool; it hands out no stream, so there is no graph.

mod tensors;
#[cfg(test)]
mod tests;
mod work;

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};

use super::buffers::Handle;
use super::executor::{Executor, Hyperparameters, Launches, MemoryHeld, PhaseTimes, Span};
use super::layout::ParameterIndex;
use super::schedule::{Phase, Schedule};
use crate::model::LibraryKernels;
use work::Work;

/// How products are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// What operands are rounded to; everything else is f32.
    pub operands: FloatDType,
    pub library: LibraryKernels,
}

/// Runs a schedule on one of burn's devices.
pub struct ClientExecutor {
    device: Device,
    schedule: Schedule,
    options: ClientOptions,
    work: Work,
}

impl ClientExecutor {
    /// Parameters are undefined until set. `device` has autodiff off.
    pub fn new(
        device: Device,
        schedule: Schedule,
        hyperparameters: Hyperparameters,
        options: ClientOptions,
    ) -> ClientExecutor {
        let work = Work::new(device.clone(), &schedule, hyperparameters, options);
        ClientExecutor {
            device,
            schedule,
            options,
            work,
        }
    }

    /// Hands the nodes of `wanted` phases to burn; how many they are.
    fn hand_over(&mut self, wanted: impl Fn(Phase) -> bool) -> Result<u64> {
        let mut count = 0;
        for node in &self.schedule.nodes {
            if wanted(node.phase) {
                self.work.carry_out(node)?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn synchronize(&self) -> Result<()> {
        self.device.sync().context("waiting for the device failed")
    }

    /// Every parameter, or what else `handle` makes of it, in the layout's order; gaps are 0.
    fn read_all(&self, handle: impl Fn(ParameterIndex) -> Handle) -> Result<Vec<f32>> {
        let layout = &self.schedule.layout;
        let mut all = vec![0.0; layout.length];
        for (index, parameter) in layout.parameters.iter().enumerate() {
            let values = read(self.work.parameter(handle(index))?)?;
            if values.len() != parameter.elements() {
                bail!("{} has {} elements", parameter.name, values.len());
            }
            all[parameter.range()].copy_from_slice(&values);
        }
        Ok(all)
    }
}

fn read<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let data = tensor.try_into_data()?;
    Ok(data.iter::<f32>().collect())
}

impl Executor for ClientExecutor {
    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn operand_bytes(&self) -> usize {
        match self.options.operands {
            FloatDType::F16 | FloatDType::BF16 => 2,
            _ => 4,
        }
    }

    fn reshape(&mut self, schedule: Schedule) -> Result<()> {
        if schedule.layout != self.schedule.layout {
            bail!("only the batch size and the sequence length can change");
        }
        self.synchronize()?;
        self.work.reshape(&schedule);
        self.schedule = schedule;
        Ok(())
    }

    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        for (handle, values) in [
            (self.schedule.tokens, tokens),
            (self.schedule.targets, targets),
        ] {
            let data = TensorData::new(values.to_vec(), [values.len()]);
            let tensor = Tensor::<1, Int>::from_data(data, &self.device);
            self.work.tensors.integers.put(handle, tensor);
        }
        Ok(())
    }

    /// Counts operations handed to burn. How many launches they become, once queued and fused, only an observer of
    /// launches sees.
    fn run(&mut self, span: Span) -> Result<Launches> {
        Ok(Launches {
            host: self.hand_over(|phase| span.contains(phase))?,
            captured: 0,
        })
    }

    fn run_phases(&mut self) -> Result<(Launches, PhaseTimes)> {
        self.synchronize()?;
        let mut launches = Launches::default();
        let mut timed = |phase: Phase| -> Result<f64> {
            let started = Instant::now();
            launches.host += self.hand_over(|other| other == phase)?;
            self.synchronize()?;
            Ok(started.elapsed().as_secs_f64() * 1e3)
        };
        let times = PhaseTimes {
            forward: timed(Phase::Forward)?,
            backward: timed(Phase::Backward)?,
            optimizer: timed(Phase::Optimizer)?,
        };
        Ok((launches, times))
    }

    /// On the host's clock, with a wait behind each node: what handing it over and waiting takes is part of each time.
    fn profile(&mut self) -> Result<Vec<f64>> {
        self.synchronize()?;
        let mut times = Vec::with_capacity(self.schedule.nodes.len());
        for node in &self.schedule.nodes {
            let started = Instant::now();
            self.work.carry_out(node)?;
            self.device.sync()?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        Ok(times)
    }

    fn wait(&mut self) -> Result<()> {
        self.synchronize()
    }

    fn last_losses(&mut self, count: usize) -> Result<Vec<f32>> {
        let losses = &self.work.losses;
        let wanted = losses.iter().skip(losses.len().saturating_sub(count));
        let mut values = Vec::new();
        for loss in wanted {
            values.extend(read(loss.clone())?);
        }
        Ok(values)
    }

    fn weights(&mut self) -> Result<Vec<f32>> {
        self.read_all(Handle::Weight)
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        let expected = self.schedule.layout.length;
        if weights.len() != expected {
            bail!("{} values where {expected} belong", weights.len());
        }
        self.work.set_weights(weights);
        self.work.forget_updates();
        Ok(())
    }

    fn gradients(&mut self) -> Result<Vec<f32>> {
        self.read_all(Handle::Gradient)
    }

    fn logits(&mut self) -> Result<Vec<f32>> {
        read(self.work.tensors.matrices.get(self.schedule.logits)?)
    }

    /// What the backend's pool has given out, and what it has taken from the device for that.
    fn memory(&self) -> Option<MemoryHeld> {
        let usage = self.device.memory_pool_usage()?;
        Some(MemoryHeld {
            now: usage.bytes_in_use,
            peak: usage.bytes_reserved,
        })
    }

    fn captured(&self) -> Result<(), String> {
        Err("it goes through burn's client, which hands out no stream to capture".into())
    }
}
