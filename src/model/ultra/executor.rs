//! What carries a schedule out.

use anyhow::Result;

use super::schedule::{Phase, Schedule};

/// Decay of the moments and what is added to the root of the second: as the other targets have them.
const BETAS: [f64; 2] = [0.9, 0.999];
const EPSILON: f64 = 1e-8;

/// What AdamW is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyperparameters {
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
}

impl Hyperparameters {
    pub fn new(learning_rate: f64, weight_decay: f64) -> Self {
        Hyperparameters {
            learning_rate,
            beta1: BETAS[0],
            beta2: BETAS[1],
            epsilon: EPSILON,
            weight_decay,
        }
    }
}

/// Which part of a step to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// Forward, backward and update.
    Step,
    /// Forward and backward: gradients at the current parameters.
    Gradients,
    /// Logits and loss.
    Forward,
}

impl Span {
    pub fn contains(self, phase: Phase) -> bool {
        match self {
            Span::Step => true,
            Span::Gradients => phase != Phase::Optimizer,
            Span::Forward => phase == Phase::Forward,
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

/// Milliseconds of the three phases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseTimes {
    pub forward: f64,
    pub backward: f64,
    pub optimizer: f64,
}

/// Bytes an executor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryHeld {
    pub now: u64,
    pub peak: u64,
}

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

    /// Starts a run.
    fn run(&mut self, span: Span) -> Result<Launches>;

    /// Runs a step phase by phase and waits for each: true times of each, and not the way to the shortest step.
    fn run_phases(&mut self) -> Result<(Launches, PhaseTimes)>;

    /// Runs a step launch by launch: milliseconds of each node of the schedule, in order.
    fn profile(&mut self) -> Result<Vec<f64>>;

    /// Waits until everything started is done.
    fn wait(&mut self) -> Result<()>;

    /// Waits, then losses of the last runs, oldest first: as many as asked for, kept ([`LOSS_RING`]) and made.
    ///
    /// [`LOSS_RING`]: super::schedule::LOSS_RING
    fn last_losses(&mut self, count: usize) -> Result<Vec<f32>>;

    /// All parameters in the layout of the schedule.
    fn weights(&mut self) -> Result<Vec<f32>>;

    /// Replaces all parameters, forgets the moments and starts counting updates anew.
    fn set_weights(&mut self, weights: &[f32]) -> Result<()>;

    /// Gradients of the last run in the layout of the schedule.
    fn gradients(&mut self) -> Result<Vec<f32>>;

    /// Logits of the last run, `[N, V]`.
    fn logits(&mut self) -> Result<Vec<f32>>;

    /// `None` where nobody counts.
    fn memory(&self) -> Option<MemoryHeld>;

    /// Whether steps are replayed from a graph; otherwise why not.
    fn captured(&self) -> Result<(), String>;
}
