//! What carries a schedule out.

use std::time::Instant;

use anyhow::{Result, bail};

use super::schedule::{Phase, Schedule};
use crate::train::telemetry::MemoryUse;

/// Which part of a step to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// Forward, backward and update.
    Step,
    /// Forward and backward: gradients at the current parameters.
    Gradients,
    /// One of the three.
    Only(Phase),
}

impl Span {
    pub fn contains(self, phase: Phase) -> bool {
        match self {
            Span::Step => true,
            Span::Gradients => phase != Phase::Optimizer,
            Span::Only(wanted) => phase == wanted,
        }
    }
}

/// How the work of one run reached the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Calls from the host that put work on the device.
    pub host: u64,
    /// Kernels, copies and fills of a replayed graph, which cost the host nothing one by one.
    pub captured: u64,
}

/// Arrays over all parameters, by name.
pub type NamedArrays = Vec<(&'static str, Vec<f32>)>;

/// Carries out the launches of a schedule. Work may go on after a call returns; whatever reads waits for it.
pub trait Executor {
    fn schedule(&self) -> &Schedule;

    /// Bytes of an operand of matrix products.
    fn operand_bytes(&self) -> usize;

    /// Replaces the schedule by one for another batch size or sequence length. Parameters and moments stay.
    ///
    /// # Errors
    /// What the device reports; the executor is as before then.
    fn reshape(&mut self, schedule: Schedule) -> Result<()>;

    /// The batch that runs use from now on, N tokens and N targets.
    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()>;

    /// Starts one node of the schedule.
    fn carry_out(&mut self, node: usize) -> Result<()>;

    /// Starts a run: node after node, unless the device has something better.
    fn run(&mut self, span: Span) -> Result<Launches> {
        let mut launches = Launches::default();
        for node in 0..self.schedule().nodes.len() {
            if span.contains(self.schedule().nodes[node].phase) {
                self.carry_out(node)?;
                launches.host += 1;
            }
        }
        Ok(launches)
    }

    /// Runs a step node by node: milliseconds of each in order, on the host's clock unless the device has one. Handing a
    /// node over and waiting for it is part of its time then.
    fn profile(&mut self) -> Result<Vec<f64>> {
        self.wait()?;
        (0..self.schedule().nodes.len())
            .map(|node| {
                let started = Instant::now();
                self.carry_out(node)?;
                self.wait()?;
                Ok(started.elapsed().as_secs_f64() * 1e3)
            })
            .collect()
    }

    /// Waits until everything started is done.
    fn wait(&mut self) -> Result<()>;

    /// Of the last step, which has been waited for: milliseconds from the end of this rank's own gradients to the end of all
    /// sums; `None` where nobody measured it or there is nothing to sum.
    fn waited(&self) -> Option<f64> {
        None
    }

    /// Waits, then losses of the last runs, oldest first: as many as asked for, kept ([`LOSS_RING`]) and made.
    ///
    /// [`LOSS_RING`]: super::schedule::LOSS_RING
    fn last_losses(&mut self, count: usize) -> Result<Vec<f32>>;

    /// All parameters in the layout of the schedule.
    fn weights(&mut self) -> Result<Vec<f32>>;

    /// Parameters and both moments; none where the executor keeps them to itself.
    fn optimizer_state(&mut self) -> Result<NamedArrays> {
        Ok(vec![])
    }

    /// Replaces all parameters, forgets the moments and starts counting updates anew.
    fn set_weights(&mut self, weights: &[f32]) -> Result<()>;

    /// Gradients of the last run in the layout of the schedule.
    fn gradients(&mut self) -> Result<Vec<f32>>;

    /// Logits of the last run, `[N, V]`.
    fn logits(&mut self) -> Result<Vec<f32>>;

    fn memory(&self) -> MemoryUse;

    /// Whether steps are replayed from a graph; otherwise why not.
    fn captured(&self) -> Result<(), String>;
}

/// Refuses a schedule of another model: what parameters there are stays.
pub fn check_reshape(old: &Schedule, new: &Schedule) -> Result<()> {
    if new.layout != old.layout {
        bail!("only the batch size and the sequence length can change");
    }
    Ok(())
}
