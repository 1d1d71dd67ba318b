//! The interface of everything that executes a schedule.

use std::time::Instant;

use anyhow::Result;

use super::schedule::{Schedule, StepPhase};
use crate::train::telemetry::PoolMemory;

/// The part of a step to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepSpan {
    /// Forward, backward and update.
    Step,
    /// Forward and backward: gradients at the current parameters.
    Gradients,
    /// A single phase.
    Only(StepPhase),
}

impl StepSpan {
    pub fn contains(self, phase: StepPhase) -> bool {
        match self {
            StepSpan::Step => true,
            StepSpan::Gradients => phase != StepPhase::Optimizer,
            StepSpan::Only(wanted) => phase == wanted,
        }
    }
}

/// How the work of one run reached the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Calls from the host that put work on the device.
    pub host: u64,
    /// Kernels, copies and fills of a replayed graph, which need no call each.
    pub captured: u64,
}

/// Arrays over all parameters, with their names.
pub type NamedArrays = Vec<(&'static str, Vec<f32>)>;

/// Executes the launches of a schedule. Work may continue after a call returns; every function that reads waits for it.
pub trait Executor {
    fn schedule(&self) -> &Schedule;

    /// Returns the bytes of an operand of matrix products.
    fn operand_bytes(&self) -> usize;

    /// Sets the batch of all later runs: N tokens and N targets.
    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()>;

    /// Starts one node of the schedule.
    fn run_node(&mut self, node: usize) -> Result<()>;

    /// Starts a run: node after node, unless the executor has a faster way.
    fn run(&mut self, span: StepSpan) -> Result<Launches> {
        let mut launches = Launches::default();
        for node in 0..self.schedule().nodes.len() {
            if span.contains(self.schedule().nodes[node].phase) {
                self.run_node(node)?;
                launches.host += 1;
            }
        }
        Ok(launches)
    }

    /// Runs a step node by node and returns the milliseconds of each in order. Without a device clock the host's clock
    /// is used, and the time of a node then includes handing it over and waiting for it.
    fn profile(&mut self) -> Result<Vec<f64>> {
        self.wait()?;
        (0..self.schedule().nodes.len())
            .map(|node| {
                let started = Instant::now();
                self.run_node(node)?;
                self.wait()?;
                Ok(started.elapsed().as_secs_f64() * 1e3)
            })
            .collect()
    }

    /// Waits until everything started is done.
    fn wait(&mut self) -> Result<()>;

    /// Returns the milliseconds from the end of this rank's own gradients to the end of all sums, in the last step.
    /// Wait for the step first. `None` if it was not measured or there is nothing to sum.
    fn communication_wait(&self) -> Option<f64> {
        None
    }

    /// Waits, then returns losses of the last runs, oldest first. There are at most `count`, at most `LOSS_RING`, and
    /// at most one per run.
    fn last_losses(&mut self, count: usize) -> Result<Vec<f32>>;

    /// Reads all parameters in the layout of the schedule. On one of several ranks the parts that others update are as the
    /// last forward pass read them.
    fn weights(&mut self) -> Result<Vec<f32>>;

    /// Reads the parameters and both moments, on one of several ranks those of the parts that it updates; empty if the executor cannot read them.
    fn optimizer_state(&mut self) -> Result<NamedArrays> {
        Ok(vec![])
    }

    /// Replaces all parameters, clears the moments and restarts the count of updates.
    fn set_weights(&mut self, weights: &[f32]) -> Result<()>;

    /// Reads the gradients of the last run in the layout of the schedule. On one of several ranks all of them have to call it.
    fn gradients(&mut self) -> Result<Vec<f32>>;

    /// Reads the logits of the last run, `[N, V]`.
    fn logits(&mut self) -> Result<Vec<f32>>;

    fn memory(&self) -> PoolMemory;

    /// Returns `Ok` if steps are replayed from a graph, otherwise the reason why not.
    fn captured(&self) -> Result<(), String>;
}
