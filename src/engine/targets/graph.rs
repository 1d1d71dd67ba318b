//! A training step through burn as a graph: recorded once, then replayed.
//!
//! A recording repeats the arguments of its launches and the places of their buffers. So whatever changes from step to
//! step has to lie in a [`FixedBuffer`]: the batch, and the factors of the update. Parameters and moments have to be
//! updated in place.

use anyhow::{Result, anyhow, bail};
use burn::backend::{Backend as _, Dispatch};
use burn::tensor::{DType, Device, ExecutionError, Int, Tensor};
use tinyllama_kernels::binding::FixedBuffer;

use crate::device::{Backend, DeviceError};
use crate::train::{Synchronize, TrainingOptions};

/// Steps before the recording. The first compiles and tunes. With fusion, only later ones take the path, and the memory,
/// that a recording can repeat.
const PREPARED: usize = 5;

/// Returns whether steps under these options are to be replayed. With waits inside a step they are not, although they
/// compute the same.
pub fn is_replayed(options: &TrainingOptions) -> bool {
    options.flags.switches.graph.is_on() && options.synchronize != Synchronize::Phases
}

/// The batch of a step, in buffers whose place a graph may remember.
pub struct GraphInputs {
    tokens: FixedBuffer,
    targets: FixedBuffer,
}

impl GraphInputs {
    /// Allocates the buffers of a batch whose tokens have this shape.
    ///
    /// # Errors
    /// Names a backend that replays no graphs.
    pub fn new(shape: &[usize], device: &Device, backend: Backend) -> Result<Self> {
        let buffer = |shape: &[usize]| match backend {
            Backend::Cuda | Backend::Rocm => FixedBuffer::new(device, shape, DType::I32),
            _ => None,
        };
        let buffers = buffer(shape).zip(buffer(&[shape.iter().product()]));
        let (tokens, targets) = buffers.ok_or(DeviceError::NoGraphs { backend })?;
        Ok(GraphInputs { tokens, targets })
    }

    /// Replaces the batch.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn write(&self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        for (buffer, values) in [(&self.tokens, tokens), (&self.targets, targets)] {
            buffer.write(
                values
                    .iter()
                    .flat_map(|value| value.to_ne_bytes())
                    .collect(),
            )?;
        }
        Ok(())
    }

    /// Returns the tokens in the `D` dimensions of their shape, and the targets in one.
    pub fn tensors<const D: usize>(&self) -> (Tensor<D, Int>, Tensor<1, Int>) {
        (self.tokens.integers(), self.targets.integers())
    }
}

/// A step that is launched kernel by kernel until it has been recorded.
pub struct StepGraph<T> {
    device: Device,
    prepared: usize,
    recorded: Option<RecordedStep<T>>,
}

struct RecordedStep<T> {
    replay: Box<dyn Fn() -> Result<(), ExecutionError>>,
    output: T,
    launches: u64,
}

impl<T> StepGraph<T> {
    /// `device` has autodiff off.
    pub fn new(device: Device) -> Self {
        StepGraph {
            device,
            prepared: 0,
            recorded: None,
        }
    }

    /// Call it before each step that is launched.
    ///
    /// # Errors
    /// A backend that captures no graphs.
    pub fn before_launches(&mut self) -> Result<()> {
        if self.prepared == 0 {
            Dispatch::graph_prepare(self.device.as_dispatch()).map_err(not_captured)?;
        }
        self.prepared += 1;
        Ok(())
    }

    /// Returns whether it is time to [`record`](Self::record).
    pub fn is_due(&self) -> bool {
        self.prepared == PREPARED && self.recorded.is_none()
    }

    /// Records the launches of `step`, which are not executed, with what it returns. `launches` counts all so far.
    ///
    /// # Errors
    /// Names what cannot be captured: a read by the host, tuning, a first allocation.
    pub fn record(
        &mut self,
        launches: impl Fn() -> u64,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<()> {
        let dispatch = self.device.as_dispatch();
        let before = launches();
        Dispatch::graph_start_capture(dispatch).map_err(not_captured)?;
        let output = step();
        // A capture that was begun has to end, whatever happened in it.
        let graph = Dispatch::graph_stop_capture(dispatch).map_err(not_captured);
        let (output, graph) = (output?, graph?);
        let device = self.device.clone();
        self.recorded = Some(RecordedStep {
            // SAFETY: the engine keeps parameters, moments and inputs as long as the graph, the graph guards the pages
            // of everything else, and only this thread uses the device.
            replay: Box::new(move || unsafe {
                Dispatch::graph_replay(device.as_dispatch(), &graph)
            }),
            output,
            launches: launches() - before,
        });
        Ok(())
    }

    pub fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// Replays the step, and returns its output and the number of its launches; `None` before the recording.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn replay(&self) -> Result<Option<(&T, u64)>> {
        let Some(recorded) = &self.recorded else {
            return Ok(None);
        };
        (recorded.replay)()?;
        Ok(Some((&recorded.output, recorded.launches)))
    }
}

fn not_captured(error: ExecutionError) -> anyhow::Error {
    anyhow!(error).context(
        "the step cannot be captured as a graph; without --graph on, its kernels are launched one by one",
    )
}

/// Refuses a recording in which an update went to a copy of its parameter.
///
/// # Errors
/// If `copied`.
pub fn refuse_copies(copied: bool) -> Result<()> {
    if copied {
        bail!(
            "the step cannot be captured as a graph: something still reads a parameter when it is updated, so the update \
             goes to a copy, and each replay would begin with the old values"
        );
    }
    Ok(())
}
