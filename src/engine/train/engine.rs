//! The traits of an engine: the training loop's interface to a model in training.

use anyhow::Result;

use crate::device::Backend;
use crate::model::work::{self, Work};
use crate::model::{Part, Weights};
use crate::train::{
    Activations, Batch, Body, LaunchCount, MatrixProducts, PoolMemory, RankCheck, StopSignal,
    Synchronize, Trace, TrainingOptions,
};
use tinyllama_base::DeviceFacts;

/// An engine's open device, before a model is on it.
pub trait EngineDevice {
    fn facts(&self) -> &DeviceFacts;

    fn backend(&self) -> Backend;

    /// Describes how this device computes matrix products.
    fn matrix_products(&self, options: &TrainingOptions) -> MatrixProducts;

    /// Describes the slow part of [`engine`](Self::engine); `None` if it is fast.
    fn preparation(&self) -> Option<&'static str> {
        None
    }

    /// Creates a model with `weights`, ready to train.
    ///
    /// # Errors
    /// Errors of the device, and options that this device does not support.
    fn engine(&self, options: &TrainingOptions, weights: &Weights) -> Result<Box<dyn Engine>>;

    /// Compares another way to compute with the one that was trained, if the options ask for it.
    ///
    /// # Errors
    /// Errors of the device.
    fn experiment(
        &self,
        _options: &TrainingOptions,
        _weights: &Weights,
        _batch: &Batch,
    ) -> Result<Option<Body>> {
        Ok(None)
    }
}

/// A model in training.
pub trait Engine {
    /// Trains on `batch` once.
    ///
    /// # Errors
    /// Errors of the device.
    fn step(&mut self, batch: &Batch, synchronize: Synchronize) -> Result<StepResult>;

    /// Computes loss and gradients at the current parameters.
    ///
    /// # Errors
    /// Errors of the device.
    fn gradients(&mut self, batch: &Batch) -> Result<Evaluation>;

    /// Returns the parameters and both moments, each as one array; empty if the engine cannot read them.
    ///
    /// # Errors
    /// Errors of the device.
    fn optimizer_state(&mut self) -> Result<Vec<(&'static str, Vec<f32>)>> {
        Ok(vec![])
    }

    /// Runs `steps` more steps and times each launch. It ends early if `stop` is set.
    ///
    /// # Errors
    /// Errors of the device.
    fn profile(&mut self, batch: &Batch, steps: usize, stop: &StopSignal) -> Result<Trace>;

    /// Returns what [`profile`](Self::profile) can measure.
    fn profiling(&self) -> Profiling;

    /// Returns the logits `[s, V]` of one sample of s tokens, at most the sequence length.
    ///
    /// # Errors
    /// Errors of the device.
    fn logits(&mut self, tokens: &[i32]) -> Result<Vec<f32>>;

    /// Returns statistics of every layer's outputs; `None` if the engine cannot read them.
    ///
    /// # Errors
    /// Errors of the device.
    fn activations(&mut self, _batch: &Batch) -> Result<Option<Activations>> {
        Ok(None)
    }

    /// Returns a counter of launches if they show the progress of a long first step.
    fn launches(&self) -> Option<LaunchCount> {
        None
    }

    /// Returns whether the first step compiles kernels for the later ones.
    fn compiles_in_first_step(&self) -> bool {
        self.launches().is_some()
    }

    /// Compares gradients over all ranks with those of one device and the whole batch. Returns `None` except on the
    /// first rank.
    ///
    /// # Errors
    /// Errors of the device.
    fn compare_ranks(&mut self, _batch: &Batch) -> Result<Option<RankCheck>> {
        Ok(None)
    }

    /// Counts the work of a step of the whole batch by part, from shapes.
    fn work(&self, options: &TrainingOptions) -> Vec<(Part, Work)> {
        work::training_step(&options.config, &options.recipe, options.operand_dtype())
    }

    /// Returns a remark about the steps for the reader, once they are over.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// Milliseconds of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTimes {
    pub total: f64,
    pub forward: Option<f64>,
    pub backward: Option<f64>,
    pub optimizer: Option<f64>,
}

/// Result of one step.
#[derive(Clone, Copy, Debug)]
pub struct StepResult {
    /// Before the update.
    pub loss: f64,
    pub times: StepTimes,
    /// Kernels issued by the host; `None` if they are not counted.
    pub launches: Option<u64>,
    /// Kernels of a replayed graph; `None` without graphs.
    pub captured: Option<u64>,
    /// Memory between the phases of the step, the larger of the values seen. Peaks inside a phase are not seen.
    pub memory: PoolMemory,
    /// Parameter tensors that received a gradient; `None` if only [`Engine::gradients`] counts them.
    pub with_gradient: Option<usize>,
    /// Milliseconds during which only sums over ranks were running; `None` without ranks or if the engine does not
    /// measure them.
    pub waited: Option<f64>,
}

/// A loss and the gradients of all parameters in the order of their names; `None` for a parameter without a gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation<T = f32> {
    pub loss: T,
    pub gradients: Vec<(String, Option<Vec<T>>)>,
}

/// The measurements that a profile pass supports.
pub enum Profiling {
    /// Every launch of some more steps, as the backend makes it.
    Observed,
    /// The parts of one step, timed one after the other. The text is a remark on the method, if it needs one.
    OneByOne(Option<&'static str>),
    /// Only the host's spans, because the backend launches nothing. The text gives the reason.
    HostOnly(String),
}
