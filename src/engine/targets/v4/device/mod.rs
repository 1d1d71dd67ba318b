//! Executes the schedule on a GPU, through CUDA or HIP: captured once as a graph and replayed.

mod alone;
mod arena;
mod compiled;
mod kernels;
mod lanes;
mod launch_times;
mod parameters;
mod products;
mod shape;
mod single_block;
#[cfg(test)]
mod tests;
mod waits;

use anyhow::{Context as _, Result, bail};
use tinyllama_kernel_catalog::adamw::Hyperparameters;

use super::buffers::BufferHandle;
use super::executor::{Executor, Launches, NamedArrays, StepSpan};
use super::operation::Operation;
use super::schedule::{FACTORS, LOSS_RING, Schedule, StepPhase, latest};
use crate::device::driver::{
    AlgorithmSelection, Communicator, DeviceBuffer, Driver, DriverError, Event, Exchange,
    GemmPrecision, Graph, Pinned, Slice, Stream,
};
use crate::device::ranges::{self, ProfilerRange};
use crate::train::KernelInPlace;
use crate::train::telemetry::PoolMemory;
pub use alone::{ArgumentSource, time_alone};
use arena::ActivationBuffers;
pub use compiled::{OfflineKernel, offline_kernels, sources};
use kernels::CompiledKernels;
use lanes::Lanes;
pub use launch_times::LaunchTimes;
use parameters::Parameters;
pub use parameters::to_bf16;
use products::Products;
pub use products::specification;
pub use single_block::single_block;
use waits::Waits;

/// Bytes of scratch memory for the matrix library, per lane.
const WORKSPACE: usize = 32 << 20;

/// Cycles for which a profiled step blocks the stream until all its launches are in the queue: some milliseconds.
const HOLD_CYCLES: i64 = 20_000_000;

/// How the executor uses the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    pub precision: GemmPrecision,
    /// Captures the step as a graph and replays it.
    pub capture: bool,
    pub selection: AlgorithmSelection,
}

/// Runs a schedule on a GPU.
pub struct DeviceExecutor {
    // Fields are dropped in this order: a graph refers to everything below.
    graph: GraphState,
    batches: Batches,
    placed: Placed,
    parameters: Parameters,
    communicator: Option<Communicator>,
    lanes: Lanes,
    options: DeviceOptions,
    hyperparameters: Hyperparameters,
    driver: Driver,
    runs: usize,
}

/// The step as a graph.
enum GraphState {
    /// No capture has been tried yet.
    Untried,
    Ready(Graph),
    /// The reason why there is no graph.
    Without(String),
}

/// A schedule, and everything that is made for it.
struct Placed {
    schedule: Schedule,
    activations: ActivationBuffers,
    kernels: CompiledKernels,
    products: Products,
    waits: Option<Waits>,
}

impl Placed {
    fn new(
        driver: &Driver,
        stream: &Stream,
        schedule: Schedule,
        parameters: &Parameters,
        options: &DeviceOptions,
    ) -> Result<Self> {
        let activations = ActivationBuffers::new(driver, stream, &schedule, options.precision)?;
        let kernels = CompiledKernels::new(driver, &schedule, options.precision)
            .context("the kernels of V4 could not be made")?;
        let products = {
            let places = arena::BufferMap {
                parameters,
                activations: &activations,
            };
            Products::new(driver, stream, &schedule, &places, options)?
        };
        Ok(Placed {
            waits: Waits::new(driver, &schedule)?,
            schedule,
            activations,
            kernels,
            products,
        })
    }
}

impl DeviceExecutor {
    /// Compiles, allocates, and chooses the algorithms of matrix products. Parameters are undefined until they are set.
    ///
    /// # Errors
    /// Errors of the driver; a model that the kernels do not cover.
    pub fn new(
        driver: Driver,
        schedule: Schedule,
        hyperparameters: Hyperparameters,
        options: DeviceOptions,
    ) -> Result<Self> {
        shape::check(&schedule.config, options.precision, driver.properties())?;
        let lanes = Lanes::new(&driver, &schedule, WORKSPACE)?;
        let parameters = Parameters::new(&driver, &schedule, options.precision)?;
        let batches = Batches::new(&driver, schedule.config.tokens())?;
        let placed = Placed::new(&driver, lanes.main(), schedule, &parameters, &options)?;
        Ok(DeviceExecutor {
            graph: GraphState::Untried,
            batches,
            placed,
            parameters,
            communicator: None,
            lanes,
            options,
            hyperparameters,
            driver,
            runs: 0,
        })
    }

    /// Replaces kernels by those of `own`, which do the same work.
    ///
    /// # Errors
    /// If one does not compile, or operands are not f32, the type in which they compute.
    pub fn with_kernels(mut self, own: &[KernelInPlace]) -> Result<Self> {
        if !own.is_empty() && self.options.precision.element_bytes() != size_of::<f32>() {
            bail!("kernels of the workbench compute in f32: leave out --dtype");
        }
        self.placed.kernels.replace(&self.driver, own)?;
        Ok(self)
    }

    /// Adds the communicator over which the schedule sums gradients.
    pub fn with_communicator(mut self, communicator: Option<Communicator>) -> Self {
        self.communicator = communicator;
        self
    }

    /// Puts the nodes of the `wanted` phases into their lanes.
    fn enqueue(&self, wanted: impl Fn(StepPhase) -> bool) -> Result<(), DriverError> {
        let nodes = &self.placed.schedule.nodes;
        self.lanes.fork()?;
        // Ranges show profilers the phases of separate launches. A graph is a single launch.
        let mut inside: Option<(StepPhase, ProfilerRange)> = None;
        for (index, node) in nodes.iter().enumerate() {
            // A skipped node still waits: later nodes of its lane may rely on its wait.
            let stream = self.lanes.enter(node)?;
            if wanted(node.phase) {
                if inside
                    .as_ref()
                    .is_none_or(|(phase, _)| *phase != node.phase)
                {
                    drop(inside.take());
                    inside = Some((node.phase, ranges::range(|| node.phase.name().into())));
                }
                self.launch(index, &node.operation, stream)?;
            }
            if let Some(waits) = &self.placed.waits {
                waits.pass(index, stream)?;
            }
            self.lanes.leave(index, stream)?;
        }
        self.lanes.join()
    }

    fn launch(
        &self,
        index: usize,
        operation: &Operation,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let exchange = match operation {
            Operation::Sum(sum) if sum.scattered => Exchange::ScatteredSum,
            Operation::Sum(_) => Exchange::Sum,
            Operation::Gather(_) => Exchange::Gather,
            _ => return self.compute(index, operation, stream),
        };
        let parts = match operation {
            Operation::Gather(gather) => self.parameters.operand_ranges(&gather.ranges)?,
            Operation::Sum(sum) => self.parameters.gradient_ranges(&sum.ranges)?,
            _ => vec![],
        };
        self.exchange(exchange, &parts, stream)
    }

    /// Exchanges parts of an array with the other ranks.
    fn exchange(
        &self,
        exchange: Exchange,
        parts: &[Slice],
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let communicator = self.communicator.as_ref().ok_or_else(|| {
            DriverError::Invalid("an exchange between ranks without a communicator".into())
        })?;
        // SAFETY: the arrays live as long as the executor, and the graph is dropped first.
        unsafe { communicator.exchange(exchange, stream, parts, self.options.precision) }
    }

    fn compute(
        &self,
        index: usize,
        operation: &Operation,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let places = self.places();
        match operation.products() {
            [] => {
                let kernels = &self.placed.kernels;
                kernels.launch(operation, &places, &self.hyperparameters, stream)
            }
            products => self.placed.products.run(index, products, &places, stream),
        }
    }

    fn places(&self) -> arena::BufferMap<'_> {
        arena::BufferMap {
            parameters: &self.parameters,
            activations: &self.placed.activations,
        }
    }

    /// Captures the step. If that fails, stores the reason and continues without a graph.
    fn capture(&mut self) -> Result<()> {
        // The first step runs outside the capture: libraries load kernels at their first use, which a capture does not
        // allow. The weights and the counters must not change.
        self.enqueue(|phase| phase != StepPhase::Optimizer)?;
        self.lanes.main().synchronize()?;
        self.runs += 1;
        // SAFETY: everything that the launches use belongs to this executor, which drops the graph first.
        let captured = unsafe { self.lanes.main().capture(|| self.enqueue(|_| true)) };
        self.graph = match captured {
            Ok(graph) => GraphState::Ready(graph),
            Err(error) => GraphState::Without(format!("the capture failed: {error}")),
        };
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        self.lanes.main().synchronize()?;
        Ok(())
    }

    /// Returns the device memory of a buffer.
    fn slice(&self, handle: BufferHandle) -> Result<Slice> {
        let slice = self.placed.activations.slice(handle);
        slice.context("a buffer of another schedule")
    }
}

impl Executor for DeviceExecutor {
    fn schedule(&self) -> &Schedule {
        &self.placed.schedule
    }

    fn operand_bytes(&self) -> usize {
        self.options.precision.element_bytes()
    }

    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        let schedule = &self.placed.schedule;
        let (token_place, target_place) =
            (self.slice(schedule.tokens)?, self.slice(schedule.targets)?);
        let stream = self.lanes.main();
        let slot = self.batches.next()?;
        slot.tokens.write(tokens)?;
        slot.targets.write(targets)?;
        // SAFETY: the slots and buffers live as long as this executor, which waits for its streams when dropped.
        unsafe {
            stream.upload_pinned(token_place, &slot.tokens)?;
            stream.upload_pinned(target_place, &slot.targets)?;
        }
        stream.record(&slot.passed)?;
        slot.used = true;
        Ok(())
    }

    fn run_node(&mut self, node: usize) -> Result<()> {
        let operation = &self.placed.schedule.nodes[node].operation;
        Ok(self.launch(node, operation, self.lanes.main())?)
    }

    fn run(&mut self, span: StepSpan) -> Result<Launches> {
        let whole = span == StepSpan::Step && self.options.capture;
        if whole && matches!(self.graph, GraphState::Untried) {
            self.capture()?;
        }
        let before = self.driver.work().host_launches();
        // Every forward pass adds one loss to the ring.
        self.runs += usize::from(span.contains(StepPhase::Forward));
        let captured = match &self.graph {
            GraphState::Ready(graph) if whole => {
                // SAFETY: the memory that the graph uses is alive, see `capture`.
                unsafe { graph.launch(self.lanes.main())? };
                let contents = graph.contents;
                contents.kernels + contents.transfers
            }
            _ => {
                self.enqueue(|phase| span.contains(phase))?;
                0
            }
        };
        Ok(Launches {
            host: self.driver.work().host_launches() - before,
            captured: captured as u64,
        })
    }

    fn profile(&mut self) -> Result<Vec<f64>> {
        let nodes = self.placed.schedule.nodes.len();
        let events = (0..=nodes)
            .map(|_| self.driver.timed_event())
            .collect::<Result<Vec<_>, _>>()?;
        self.runs += 1;
        self.placed
            .kernels
            .busy_wait(HOLD_CYCLES, self.lanes.main())?;
        self.lanes.main().record(&events[0])?;
        for node in 0..nodes {
            self.run_node(node)?;
            self.lanes.main().record(&events[node + 1])?;
        }
        self.synchronize()?;
        let times = events.windows(2).map(|pair| {
            let time = pair[1].milliseconds_since(&pair[0])?;
            Ok(f64::from(time))
        });
        times.collect()
    }

    fn wait(&mut self) -> Result<()> {
        self.synchronize()?;
        match &self.communicator {
            Some(communicator) => Ok(communicator.check_late()?),
            None => Ok(()),
        }
    }

    fn communication_wait(&self) -> Option<f64> {
        self.placed.waits.as_ref()?.milliseconds()
    }

    fn last_losses(&mut self, count: usize) -> Result<Vec<f32>> {
        let ring = self.slice(self.placed.schedule.losses)?;
        let ring: Vec<f32> = self.lanes.main().download(ring, LOSS_RING)?;
        Ok(latest(&ring, self.runs, count))
    }

    fn weights(&mut self) -> Result<Vec<f32>> {
        Ok(self.parameters.read(self.lanes.main())?)
    }

    fn optimizer_state(&mut self) -> Result<NamedArrays> {
        let parameters = &self.parameters;
        let read = |array: &DeviceBuffer| {
            let kept = array.as_slice();
            self.lanes
                .main()
                .download(kept, kept.bytes() / size_of::<f32>())
        };
        Ok(vec![
            ("weights", parameters.read(self.lanes.main())?),
            ("first", read(&parameters.first_moments)?),
            ("second", read(&parameters.second_moments)?),
        ])
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        self.parameters.set(self.lanes.main(), weights)?;
        let factors = self.slice(self.placed.schedule.factors)?;
        self.lanes.main().upload(factors, &[0.0f32; FACTORS + 1])?;
        Ok(())
    }

    fn gradients(&mut self) -> Result<Vec<f32>> {
        let layout = &self.placed.schedule.layout;
        if self.placed.schedule.shards.is_some() {
            let blocks: Vec<_> = (0..self.placed.schedule.config.layers)
                .map(|layer| layout.block(layer))
                .collect();
            let parts = self.parameters.gradient_ranges(&blocks)?;
            self.exchange(Exchange::Gather, &parts, self.lanes.main())?;
        }
        Ok(self.parameters.read_gradients(self.lanes.main())?)
    }

    fn logits(&mut self) -> Result<Vec<f32>> {
        let config = &self.placed.schedule.config;
        let logits = self.slice(self.placed.schedule.logits)?;
        let count = config.tokens() * config.vocabulary;
        Ok(self.lanes.main().download(logits, count)?)
    }

    fn memory(&self) -> PoolMemory {
        let held = self.driver.memory_use();
        PoolMemory {
            in_use: Some(held.allocated as u64),
            reserved: Some(held.peak as u64),
        }
    }

    fn captured(&self) -> Result<(), String> {
        match &self.graph {
            GraphState::Ready(_) => Ok(()),
            GraphState::Without(reason) => Err(reason.clone()),
            GraphState::Untried if !self.options.capture => Err("switched off".into()),
            GraphState::Untried => Err("no step was run yet".into()),
        }
    }
}

impl Drop for DeviceExecutor {
    fn drop(&mut self) {
        // The buffers are freed next, and running work may still use them. A failure here has no receiver.
        drop(self.lanes.main().synchronize());
    }
}

/// Page-locked memory for batches: one slot is filled while the other is being copied.
struct Batches {
    slots: [Slot; 2],
    next: usize,
}

struct Slot {
    tokens: Pinned<i32>,
    targets: Pinned<i32>,
    /// Recorded after the copy to the device.
    passed: Event,
    used: bool,
}

impl Batches {
    fn new(driver: &Driver, tokens: usize) -> Result<Self, DriverError> {
        let slot = || -> Result<Slot, DriverError> {
            Ok(Slot {
                tokens: driver.allocate_pinned(tokens)?,
                targets: driver.allocate_pinned(tokens)?,
                passed: driver.ordering_event()?,
                used: false,
            })
        };
        Ok(Batches {
            slots: [slot()?, slot()?],
            next: 0,
        })
    }

    /// Returns a slot whose copy is complete.
    fn next(&mut self) -> Result<&mut Slot, DriverError> {
        let slot = &mut self.slots[self.next];
        self.next = 1 - self.next;
        if slot.used {
            slot.passed.synchronize()?;
        }
        Ok(slot)
    }
}
