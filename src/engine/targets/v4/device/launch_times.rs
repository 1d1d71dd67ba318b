//! The schedule as a table: bytes, operations and time of each kind of launch.

use anyhow::{Result, bail};

use super::DeviceExecutor;
use crate::model::work::Work;
use crate::targets::v4::executor::Executor;
use crate::targets::v4::operation::{MatrixProduct, Operation};
use crate::targets::v4::schedule::StepPhase;

/// Launches in a graph that times one kind.
const IN_A_ROW: usize = 24;

/// Replays of the graph; the shortest counts.
const ROUNDS: usize = 5;

/// Launches of one kind and shape in one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchTimes {
    pub phase: StepPhase,
    /// Name, and for products the shape.
    pub label: String,
    /// Launches per step.
    pub count: usize,
    /// Time of one launch in a graph of launches of its kind, back to back.
    pub microseconds: f64,
    /// Work of one launch.
    pub work: Work,
}

impl DeviceExecutor {
    /// Times one launch of each kind. Operands that fit the cache stay in it, as they mostly do in a step.
    ///
    /// Afterwards parameters and buffers are as after many updates. Set them before you continue training.
    ///
    /// # Errors
    /// Errors of the device; an executor on which no batch was placed and run before.
    pub fn launch_times(&mut self) -> Result<Vec<LaunchTimes>> {
        if self.runs == 0 {
            bail!("launches are timed on buffers that a step has filled");
        }
        let operand = self.options.precision.element_bytes();
        let mut kinds: Vec<(LaunchTimes, usize)> = Vec::new();
        for (index, node) in self.schedule().nodes.iter().enumerate() {
            let label = label(&node.operation);
            let known = kinds
                .iter_mut()
                .find(|(kind, _)| kind.phase == node.phase && kind.label == label);
            match known {
                Some((kind, _)) => kind.count += 1,
                None => kinds.push((
                    LaunchTimes {
                        phase: node.phase,
                        label,
                        count: 1,
                        microseconds: f64::NAN,
                        work: self.schedule().work(index, operand),
                    },
                    index,
                )),
            }
        }
        for (kind, index) in &mut kinds {
            kind.microseconds = self.in_a_row(*index)? * 1e3;
        }
        Ok(kinds.into_iter().map(|(kind, _)| kind).collect())
    }

    /// Returns the milliseconds of node `index`.
    fn in_a_row(&self, index: usize) -> Result<f64> {
        let stream = self.lanes.main();
        let operation = &self.schedule().nodes[index].operation;
        // SAFETY: everything that the launches use belongs to this executor; the graph is dropped at the end of this function.
        let graph = unsafe {
            stream
                .capture(|| (0..IN_A_ROW).try_for_each(|_| self.launch(index, operation, stream)))?
        };
        // SAFETY: as above; the timer waits for the stream.
        let launch = || unsafe { graph.launch(stream) };
        let least = self.driver.timer()?.shortest(stream, ROUNDS, launch)?;
        Ok(least / IN_A_ROW as f64)
    }
}

fn label(operation: &Operation) -> String {
    let name = operation.name();
    match (operation, operation.products()) {
        (_, [MatrixProduct { m, n, k, .. }]) => format!("{name} {m}x{n}x{k}"),
        (_, [MatrixProduct { m, n, k, .. }, ..]) => {
            format!("{name} {} x {m}x{n}x{k}", operation.products().len())
        }
        (Operation::UpdateOperation(op), _) => format!("adamw {}", op.elements.len()),
        _ => name.into(),
    }
}
