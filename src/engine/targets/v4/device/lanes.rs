//! Concurrent streams, and the events that order them as the schedule requires.

use crate::device::driver::{Driver, DriverError, Event, Stream};
use crate::targets::v4::operation::Operation;
use crate::targets::v4::schedule::{Node, Schedule};

type Result<T> = std::result::Result<T, DriverError>;

/// One stream for each lane of a schedule.
pub struct Lanes {
    /// The main lane first.
    streams: Vec<Stream>,
    /// Events of the nodes for which another lane waits.
    events: Vec<Option<Event>>,
    started: Event,
    /// Events for the end of each lane except the main one.
    ended: Vec<Event>,
}

impl Lanes {
    pub fn new(driver: &Driver, schedule: &Schedule, workspace: usize) -> Result<Self> {
        // Products are timed in the main lane, in whichever lane they run.
        let multiplies = |lane: usize| {
            let nodes = schedule.nodes.iter();
            let mut products = nodes.filter(|node| !node.operation.products().is_empty());
            lane == 0 || products.any(|node| node.lane == lane)
        };
        let sums = |lane: usize| {
            let mut nodes = schedule.nodes.iter();
            nodes.any(|node| node.lane == lane && matches!(node.operation, Operation::Sum(_)))
        };
        let streams = (0..schedule.lanes)
            .map(|lane| match multiplies(lane) {
                true => driver.stream(workspace),
                // GPUs of other ranks wait for these sums, so the stream is urgent.
                false if sums(lane) => driver.urgent_stream(),
                false => driver.stream(0),
            })
            .collect::<Result<Vec<_>>>()?;
        let ended = (1..schedule.lanes)
            .map(|_| driver.ordering_event())
            .collect::<Result<Vec<_>>>()?;
        let mut events: Vec<Option<Event>> = schedule.nodes.iter().map(|_| None).collect();
        for earlier in schedule.nodes.iter().flat_map(|node| &node.after) {
            if let Some(event @ None) = events.get_mut(*earlier) {
                *event = Some(driver.ordering_event()?);
            }
        }
        Ok(Lanes {
            streams,
            events,
            started: driver.ordering_event()?,
            ended,
        })
    }

    pub fn main(&self) -> &Stream {
        &self.streams[0]
    }

    /// Makes every lane start after the work in the main lane.
    pub fn fork(&self) -> Result<()> {
        let (main, others) = (&self.streams[0], &self.streams[1..]);
        if !others.is_empty() {
            main.record(&self.started)?;
        }
        others.iter().try_for_each(|lane| lane.wait(&self.started))
    }

    /// Makes the main lane continue after all other lanes.
    pub fn join(&self) -> Result<()> {
        for (lane, ended) in self.streams[1..].iter().zip(&self.ended) {
            lane.record(ended)?;
            self.main().wait(ended)?;
        }
        Ok(())
    }

    /// Returns the stream of a node, after adding waits for the nodes that it depends on.
    pub fn enter(&self, node: &Node) -> Result<&Stream> {
        let stream = &self.streams[node.lane];
        for earlier in &node.after {
            if let Some(Some(event)) = self.events.get(*earlier) {
                stream.wait(event)?;
            }
        }
        Ok(stream)
    }

    /// Marks that a node has been put into its stream.
    pub fn leave(&self, index: usize, stream: &Stream) -> Result<()> {
        match self.events.get(index) {
            Some(Some(event)) => stream.record(event),
            _ => Ok(()),
        }
    }
}
