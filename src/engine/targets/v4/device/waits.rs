//! Measures how long a rank waits for sums of gradients, by the device's own clock.

use std::cell::Cell;

use crate::device::driver::{Driver, DriverError, Event, Stream};
use crate::targets::v4::operation::Operation;
use crate::targets::v4::schedule::{Schedule, StepPhase};

/// Marks in a step: the moments when a rank's own gradients and the sums are complete.
pub struct Waits {
    /// The last node that computes gradients in each lane.
    own: Vec<(usize, Event)>,
    /// The last sum.
    summed: (usize, Event),
    /// True if the last pass was marked. Some drivers cannot mark inside a graph.
    marked: Cell<bool>,
}

impl Waits {
    /// Creates the marks; `None` if a schedule sums nothing.
    pub fn new(driver: &Driver, schedule: &Schedule) -> Result<Option<Self>, DriverError> {
        let nodes = || schedule.nodes.iter().enumerate();
        let sums = |operation: &Operation| matches!(operation, Operation::Sum(_));
        let last_sum = nodes().rfind(|(_, node)| sums(&node.operation));
        let Some((last_sum, _)) = last_sum else {
            return Ok(None);
        };
        let last_of = |lane: usize| {
            nodes().rfind(|(_, node)| {
                node.lane == lane && node.phase == StepPhase::Backward && !sums(&node.operation)
            })
        };
        let own = (0..schedule.lanes).filter_map(last_of);
        let own = own.map(|(at, _)| Ok((at, driver.timed_event()?)));
        Ok(Some(Waits {
            own: own.collect::<Result<_, DriverError>>()?,
            summed: (last_sum, driver.timed_event()?),
            marked: Cell::new(false),
        }))
    }

    /// Marks `stream` if node `index`, which was just put into it, is a marked one.
    pub fn pass(&self, index: usize, stream: &Stream) -> Result<(), DriverError> {
        let mut all = self.own.iter().chain([&self.summed]);
        if let Some((_, event)) = all.find(|(at, _)| *at == index) {
            self.marked.set(stream.record_timed(event)?);
        }
        Ok(())
    }

    /// Returns the milliseconds from the end of a rank's own gradients to the end of the sums, in the last step. Wait
    /// for the step first. The time shows what the backward pass did not hide, and how late the other ranks were.
    /// `None` if it was not measured.
    pub fn milliseconds(&self) -> Option<f64> {
        let since = |(_, event): &(usize, Event)| self.summed.1.milliseconds_since(event).ok();
        let waits = self.own.iter().map(since).collect::<Option<Vec<f32>>>();
        let least = waits.filter(|_| self.marked.get())?.into_iter();
        let least = least.reduce(f32::min)?;
        Some(f64::from(least.max(0.0)))
    }
}
