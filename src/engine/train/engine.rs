//! What the training loop sees of a model in training, whoever carries its steps out.

use anyhow::Result;

use crate::device::Backend;
use crate::model::Weights;
use crate::train::{
    Activations, Batch, Body, LaunchCount, MatrixProducts, MemoryUse, Options, RankCheck,
    StopSignal, Synchronize, Trace,
};
use tinyllama_base::DeviceFacts;

/// The device of an engine, opened; no model is on it yet.
pub trait EngineDevice {
    fn facts(&self) -> &DeviceFacts;

    fn backend(&self) -> Backend;

    /// How matrix products are carried out here.
    fn matrix_products(&self, options: &Options) -> MatrixProducts;

    /// What [`engine`](Self::engine) takes its time for; `None` where it takes none.
    fn preparation(&self) -> Option<&'static str> {
        None
    }

    /// A model with `weights`, ready to train.
    ///
    /// # Errors
    /// What the device reports; what the options ask for and this device has not.
    fn engine(&self, options: &Options, weights: &Weights) -> Result<Box<dyn Engine>>;

    /// Another way to compute, beside what was trained with, where the options ask for one.
    ///
    /// # Errors
    /// What the device reports.
    fn experiment(
        &self,
        _options: &Options,
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
    /// What the device reports.
    fn step(&mut self, batch: &Batch, synchronize: Synchronize) -> Result<StepResult>;

    /// Loss and gradients at the current parameters.
    ///
    /// # Errors
    /// What the device reports.
    fn gradients(&mut self, batch: &Batch) -> Result<Evaluation>;

    /// Parameters and both moments, each as one array; none where they are not to be had.
    ///
    /// # Errors
    /// What the device reports.
    fn optimizer_state(&mut self) -> Result<Vec<(&'static str, Vec<f32>)>> {
        Ok(vec![])
    }

    /// Some more steps under observation, each launch with its time; ends early where `stop` says so.
    ///
    /// # Errors
    /// What the device reports.
    fn profile(&mut self, batch: &Batch, steps: usize, stop: &StopSignal) -> Result<Trace>;

    /// What [`profile`](Self::profile) can tell.
    fn profiling(&self) -> Profiling;

    /// Logits `[s, V]` of one sample of s tokens, at most the sequence length.
    ///
    /// # Errors
    /// What the device reports.
    fn logits(&mut self, tokens: &[i32]) -> Result<Vec<f32>>;

    /// The numbers that every layer puts out; `None` where they are not to be had.
    ///
    /// # Errors
    /// What the device reports.
    fn activations(&mut self, _batch: &Batch) -> Result<Option<Activations>> {
        Ok(None)
    }

    /// Launches so far, where a long first step is best watched by them.
    fn launches(&self) -> Option<LaunchCount> {
        None
    }

    /// Whether the first step compiles what the others run.
    fn compiles_in_first_step(&self) -> bool {
        self.launches().is_some()
    }

    /// Gradients over all ranks beside one device's with the whole batch; `None` where this is no rank, or not the first.
    ///
    /// # Errors
    /// What the device reports.
    fn compare_ranks(&mut self, _batch: &Batch) -> Result<Option<RankCheck>> {
        Ok(None)
    }

    /// What a reader should know about the steps, once they are over.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// Milliseconds of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTimes {
    pub total: f64,
    pub forward: Option<f64>,
    pub backward: Option<f64>,
    pub optimizer: Option<f64>,
}

/// What one step gave.
#[derive(Clone, Copy, Debug)]
pub struct StepResult {
    /// Before the update.
    pub loss: f64,
    pub times: StepTimes,
    /// Kernels issued by the host; `None` where nobody counts.
    pub launches: Option<u64>,
    /// Kernels of a replayed graph; `None` without graphs.
    pub captured: Option<u64>,
    /// The larger of what was held between the phases of the step. Peaks inside a phase are not seen.
    pub memory: MemoryUse,
    /// Parameter tensors that received a gradient; `None` where only [`Engine::gradients`] tells.
    pub with_gradient: Option<usize>,
    /// Milliseconds for which only sums over ranks were under way; `None` where there are none or nobody measures them.
    pub waited: Option<f64>,
}

/// A loss and the gradients of all parameters, in the order of their names; `None` for one that got none.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation<T = f32> {
    pub loss: T,
    pub gradients: Vec<(String, Option<Vec<T>>)>,
}

/// What a profile pass can tell.
pub enum Profiling {
    /// Every launch of some more steps, as the backend makes it.
    Observed,
    /// The parts of one step, timed one after the other; with a remark on how, where it needs one.
    OneByOne(Option<&'static str>),
    /// The host's spans alone, because nothing is launched.
    HostOnly(String),
}
