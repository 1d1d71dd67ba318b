//! The schedule as a table: what each kind of launch moves, computes and takes.

use anyhow::{Result, bail};

use super::DeviceExecutor;
use super::single_block::least;
use crate::model::work::Work;
use crate::targets::v4::executor::Executor;
use crate::targets::v4::operation::{Operation, Product};
use crate::targets::v4::schedule::Phase;

/// Launches of a graph that times one kind.
const IN_A_ROW: usize = 24;

/// Replays of it; the least counts.
const ROUNDS: usize = 5;

/// Launches of one kind and shape in one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchTimes {
    pub phase: Phase,
    /// Name and, of products, the shape.
    pub label: String,
    /// In a step.
    pub count: usize,
    /// Of one launch among others of its kind in a graph, as close behind each other as they get.
    pub microseconds: f64,
    /// Of one launch.
    pub work: Work,
}

impl DeviceExecutor {
    /// Times one launch of each kind. Operands stay in the cache where they fit, as they mostly do in a step.
    ///
    /// Parameters and buffers are as after many updates: set them before training on.
    ///
    /// # Errors
    /// What the device reports; that no batch was placed and run before.
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

    /// Milliseconds of node `index`.
    fn in_a_row(&self, index: usize) -> Result<f64> {
        let stream = self.lanes.main();
        let operation = &self.schedule().nodes[index].operation;
        // SAFETY: everything the launches use belongs to this executor; the graph goes at the end of this function.
        let graph = unsafe {
            stream
                .capture(|| (0..IN_A_ROW).try_for_each(|_| self.launch(index, operation, stream)))?
        };
        let events = (self.driver.timed_event()?, self.driver.timed_event()?);
        let least = least(stream, &events, ROUNDS, || {
            // SAFETY: as above; `least` waits for the stream.
            unsafe { graph.launch(stream)? };
            Ok(())
        })?;
        Ok(least / IN_A_ROW as f64)
    }
}

fn label(operation: &Operation) -> String {
    let name = operation.name();
    match (operation, operation.products()) {
        (_, [Product { m, n, k, .. }]) => format!("{name} {m}x{n}x{k}"),
        (_, [Product { m, n, k, .. }, ..]) => {
            format!("{name} {} x {m}x{n}x{k}", operation.products().len())
        }
        (Operation::Update(op), _) => format!("adamw {}", op.elements.len()),
        _ => name.into(),
    }
}
