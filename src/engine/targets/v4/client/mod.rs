//! Executes the schedule through burn's own client: on any backend of this program, Vulkan included.
//!
//! There is no autodiff and no tape. Every node becomes an operation on burn's tensors: products by burn's library
//! (cubek on a GPU), all others by this project's kernels. The client queues operations, may fuse neighbours, and takes
//! memory from its pool. It exposes no stream, so there is no graph.

mod interpreter;
mod tensors;
#[cfg(test)]
mod tests;

use anyhow::{Context as _, Result, bail};
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};
use tinyllama_kernel_catalog::adamw::Hyperparameters;

use super::buffers::BufferHandle;
use super::executor::{Executor, check_reshape};
use super::layout::ParameterIndex;
use super::schedule::Schedule;
use crate::model::LibraryKernels;
use crate::targets::autodiff::read;
use crate::train::telemetry::PoolMemory;
use interpreter::Interpreter;

/// How products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Type to which operands are rounded; everything else is f32.
    pub operands: FloatDType,
    pub library: LibraryKernels,
}

/// Runs a schedule on one of burn's devices.
pub struct ClientExecutor {
    schedule: Schedule,
    interpreter: Interpreter,
}

impl ClientExecutor {
    /// Creates the executor. Parameters are undefined until they are set. `device` has autodiff off.
    pub fn new(
        device: Device,
        schedule: Schedule,
        hyperparameters: Hyperparameters,
        options: ClientOptions,
    ) -> ClientExecutor {
        ClientExecutor {
            interpreter: Interpreter::new(device, &schedule, hyperparameters, options),
            schedule,
        }
    }

    /// Reads every parameter, or the array of it that `handle` selects, in the layout's order; gaps are 0.
    fn read_all(&self, handle: impl Fn(ParameterIndex) -> BufferHandle) -> Result<Vec<f32>> {
        let layout = &self.schedule.layout;
        let mut all = vec![0.0; layout.length];
        for (index, parameter) in layout.parameters.iter().enumerate() {
            let values: Vec<f32> = read(self.interpreter.parameter(handle(index))?)?;
            if values.len() != parameter.elements() {
                bail!("{} has {} elements", parameter.name, values.len());
            }
            all[parameter.range()].copy_from_slice(&values);
        }
        Ok(all)
    }
}

impl Executor for ClientExecutor {
    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn operand_bytes(&self) -> usize {
        match self.interpreter.options.operands {
            FloatDType::F16 | FloatDType::BF16 => 2,
            _ => 4,
        }
    }

    fn reshape(&mut self, schedule: Schedule) -> Result<()> {
        check_reshape(&self.schedule, &schedule)?;
        self.wait()?;
        self.interpreter.reshape(&schedule);
        self.schedule = schedule;
        Ok(())
    }

    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        for (handle, values) in [
            (self.schedule.tokens, tokens),
            (self.schedule.targets, targets),
        ] {
            let data = TensorData::new(values.to_vec(), [values.len()]);
            let tensor = Tensor::<1, Int>::from_data(data, &self.interpreter.device);
            self.interpreter.tensors.integers.put(handle, tensor);
        }
        Ok(())
    }

    /// Executes a node, which counts as one launch. After queueing and fusion, only an observer of launches sees the
    /// real number.
    fn run_node(&mut self, node: usize) -> Result<()> {
        self.interpreter.run_node(&self.schedule.nodes[node])
    }

    fn wait(&mut self) -> Result<()> {
        self.interpreter
            .device
            .sync()
            .context("waiting for the device failed")
    }

    fn last_losses(&mut self, count: usize) -> Result<Vec<f32>> {
        let losses = &self.interpreter.losses;
        let wanted = losses.iter().skip(losses.len().saturating_sub(count));
        let mut values = Vec::new();
        for loss in wanted {
            values.extend(read::<f32, 1>(loss.clone())?);
        }
        Ok(values)
    }

    fn weights(&mut self) -> Result<Vec<f32>> {
        self.read_all(BufferHandle::Weight)
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        let expected = self.schedule.layout.length;
        if weights.len() != expected {
            bail!("{} values where {expected} belong", weights.len());
        }
        self.interpreter.set_weights(weights);
        Ok(())
    }

    fn gradients(&mut self) -> Result<Vec<f32>> {
        self.read_all(BufferHandle::Gradient)
    }

    fn logits(&mut self) -> Result<Vec<f32>> {
        let logits = self
            .interpreter
            .tensors
            .matrices
            .get(self.schedule.logits)?;
        Ok(read(logits)?)
    }

    /// Returns the bytes that the backend's pool has handed out, and the bytes that it has reserved on the device.
    fn memory(&self) -> PoolMemory {
        PoolMemory::read(&self.interpreter.device)
    }

    fn captured(&self) -> Result<(), String> {
        Err("it goes through burn's client, which hands out no stream to capture".into())
    }
}
