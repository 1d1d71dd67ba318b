//! The schedule as a table: bytes, operations and time of each kind of launch.

use anyhow::{Result, bail};

use super::DeviceExecutor;
use crate::device::driver::{DriverError, LaunchSettings, SourceCode, Stream};
use crate::model::work::Work;
use crate::targets::v4::executor::Executor;
use crate::targets::v4::operation::{MatrixProduct, Operation};
use crate::targets::v4::schedule::{Schedule, StepPhase};

/// Launches in a graph that times one kind.
const IN_A_ROW: usize = 24;

/// A kernel that does nothing.
const EMPTY: &str = r#"extern "C" __global__ void empty() {}"#;

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
    /// Blocks of its largest kernel; `None` if the driver does not tell.
    pub blocks: Option<u64>,
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
        let mut kinds = kinds(self.schedule(), operand);
        for (kind, index) in &mut kinds {
            let operation = &self.schedule().nodes[*index].operation;
            let launch = |stream: &Stream| self.launch(*index, operation, stream);
            (kind.microseconds, kind.blocks) = self.in_a_row(launch)?;
        }
        Ok(kinds.into_iter().map(|(kind, _)| kind).collect())
    }

    /// Returns the microseconds of a launch that does nothing, in a graph of such launches, each behind the last.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn empty_launch(&self) -> Result<f64> {
        let source = SourceCode::new("empty.cu", EMPTY);
        let kernel = self.driver.compile(&source)?.kernel("empty")?;
        let settings = LaunchSettings::linear(1, 1);
        // SAFETY: the kernel has no arguments and touches no memory.
        let launch = |stream: &Stream| unsafe { stream.launch(&kernel, &settings, &[]) };
        Ok(self.in_a_row(launch)?.0)
    }

    /// Returns the microseconds of a launch, and the blocks of its largest kernel.
    fn in_a_row(
        &self,
        launch: impl Fn(&Stream) -> Result<(), DriverError>,
    ) -> Result<(f64, Option<u64>)> {
        let stream = self.lanes.main();
        // SAFETY: everything that the launches use belongs to this executor; the graph is dropped at the end of this function.
        let graph = unsafe { stream.capture(|| (0..IN_A_ROW).try_for_each(|_| launch(stream)))? };
        // SAFETY: as above; the timer waits for the stream.
        let replay = || unsafe { graph.launch(stream) };
        let least = self.driver.timer()?.shortest(stream, ROUNDS, replay)?;
        Ok((least * 1e3 / IN_A_ROW as f64, graph.contents.most_blocks))
    }
}

/// Lists the kinds of launches, not timed yet, each with the node of its first launch. Launches of one kernel that move
/// different arrays are different kinds.
fn kinds(schedule: &Schedule, operand: usize) -> Vec<(LaunchTimes, usize)> {
    let mut kinds: Vec<(LaunchTimes, usize)> = Vec::new();
    for (index, node) in schedule.nodes.iter().enumerate() {
        let (label, work) = (label(&node.operation), schedule.work(index, operand));
        let known = kinds
            .iter_mut()
            .find(|(kind, _)| kind.phase == node.phase && kind.label == label && kind.work == work);
        match known {
            Some((kind, _)) => kind.count += 1,
            None => kinds.push((
                LaunchTimes {
                    phase: node.phase,
                    label,
                    count: 1,
                    microseconds: f64::NAN,
                    work,
                    blocks: None,
                },
                index,
            )),
        }
    }
    kinds
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

#[cfg(test)]
mod tests {
    use tinyllama_contract::model::Preset;

    use super::*;
    use crate::targets::v4::schedule::Concurrency;

    #[test]
    fn kinds_together_do_the_work_of_the_step() {
        let schedule = Schedule::new(&Preset::Small.config(), Concurrency::NONE);
        let kinds = kinds(&schedule, 2);
        let launches: usize = kinds.iter().map(|(kind, _)| kind.count).sum();
        assert_eq!(launches, schedule.nodes.len());
        let sum = |of: fn(&Work) -> f64| {
            let kinds = kinds.iter();
            kinds
                .map(|(kind, _)| kind.count as f64 * of(&kind.work))
                .sum::<f64>()
        };
        let step = (0..schedule.nodes.len()).map(|index| schedule.work(index, 2));
        let step = step.fold(Work::default(), |sum, work| sum + work);
        assert!((sum(|work| work.bytes) / step.bytes - 1.0).abs() < 1e-9);
        assert!((sum(|work| work.flops) / step.flops - 1.0).abs() < 1e-9);
    }
}
