//! Executes the schedule through burn's own client: on any backend of this program, Vulkan included.
//!
//! There is no autodiff and no tape. Every node becomes an operation on burn's tensors: products by burn's library
//! (cubek on a GPU), all others by this project's kernels. The client queues operations, may fuse neighbours, and takes
//! memory from its pool. `--graph on` records a step through it and replays it.

mod interpreter;
mod tensors;
#[cfg(test)]
mod tests;

use anyhow::{Context as _, Result, bail};
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use tinyllama_kernel_catalog::adamw::Hyperparameters;

use super::buffers::BufferHandle;
use super::executor::{Executor, Launches, StepSpan};
use super::layout::ParameterIndex;
use super::schedule::{Schedule, StepPhase};
use crate::device::Backend;
use crate::model::LibraryKernels;
use crate::targets::autodiff::read;
use crate::targets::graph::{GraphInputs, StepGraph, refuse_copies};
use crate::train::telemetry::{LaunchCounter, PoolMemory};
use interpreter::Interpreter;

/// How products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Type to which operands are rounded; everything else is f32.
    pub operands: FloatDType,
    pub library: LibraryKernels,
    /// True if the step may be replayed from a graph.
    pub graph: bool,
}

/// Runs a schedule on one of burn's devices.
pub struct ClientExecutor {
    schedule: Schedule,
    interpreter: Interpreter,
    graph: Option<ScheduleGraph>,
}

/// A step as a graph, which leaves its loss.
struct ScheduleGraph {
    step: StepGraph<Tensor<1>>,
    inputs: GraphInputs,
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
            graph: None,
        }
    }

    /// Records the step after a few runs, and replays it from then on.
    ///
    /// # Errors
    /// Names a backend that replays no graphs.
    pub fn with_graph(mut self, backend: Backend) -> Result<ClientExecutor> {
        let device = &self.interpreter.device;
        self.graph = Some(ScheduleGraph {
            inputs: GraphInputs::new(&[self.schedule.config.tokens()], device, backend)?,
            step: StepGraph::new(device.clone()),
        });
        Ok(self)
    }

    fn run_nodes(&mut self, span: StepSpan) -> Result<Launches> {
        let mut launches = Launches::default();
        for node in &self.schedule.nodes {
            if span.contains(node.phase) {
                self.interpreter.run_node(node)?;
                launches.host += 1;
            }
        }
        Ok(launches)
    }

    /// Records the launches of a step, which are not executed.
    fn record(&mut self, mut graph: ScheduleGraph) -> Result<()> {
        self.wait()?;
        self.interpreter.take_copied();
        let kept = self.interpreter.losses.clone();
        // Started last, because of several counters only the newest counts.
        let counter = LaunchCounter::start();
        let launched = || counter.total();
        graph.step.record(launched, || {
            self.interpreter.has_advanced = true;
            self.run_nodes(StepSpan::Step)?;
            let loss = self.interpreter.losses.pop_back();
            loss.context("a step leaves a loss")
        })?;
        self.interpreter.losses = kept;
        refuse_copies(self.interpreter.take_copied())?;
        self.graph = Some(graph);
        Ok(())
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

    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        let (tokens, targets) = match &self.graph {
            Some(graph) => {
                graph.inputs.write(tokens, targets)?;
                graph.inputs.tensors()
            }
            None => {
                let tensor = |values: &[i32]| {
                    let data = TensorData::new(values.to_vec(), [values.len()]);
                    Tensor::from_data(data, &self.interpreter.device)
                };
                (tensor(tokens), tensor(targets))
            }
        };
        let integers = &mut self.interpreter.tensors.integers;
        integers.put(self.schedule.tokens, tokens);
        integers.put(self.schedule.targets, targets);
        Ok(())
    }

    /// Executes a node, which counts as one launch. After queueing and fusion, only an observer of launches sees the
    /// real number.
    fn run_node(&mut self, node: usize) -> Result<()> {
        self.interpreter.run_node(&self.schedule.nodes[node])
    }

    fn run(&mut self, span: StepSpan) -> Result<Launches> {
        if span.contains(StepPhase::Optimizer) {
            self.interpreter.advance()?;
        }
        if span != StepSpan::Step {
            return self.run_nodes(span);
        }
        if let Some(graph) = &mut self.graph {
            if let Some((loss, captured)) = graph.step.replay()? {
                self.interpreter.has_advanced = false;
                self.interpreter.losses = [loss.clone()].into();
                return Ok(Launches { host: 1, captured });
            }
            graph.step.before_launches()?;
        }
        let launches = self.run_nodes(span)?;
        if let Some(graph) = self.graph.take_if(|graph| graph.step.is_due()) {
            self.record(graph)?;
        }
        Ok(launches)
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
        match &self.graph {
            Some(graph) if graph.step.is_recorded() => Ok(()),
            Some(_) => Err("it is recorded after the fifth step that waits for no phase".into()),
            None => Err("through burn it is launched kernel by kernel, unless --graph on".into()),
        }
    }
}
