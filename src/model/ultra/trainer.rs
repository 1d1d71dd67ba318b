//! What the training loop sees of V4.

use std::time::Instant;

use anyhow::Result;
use thiserror::Error;

use super::cost::Cost;
use super::device::{DeviceExecutor, DeviceOptions};
use super::executor::{Executor, Hyperparameters, Launches, MemoryHeld, PhaseTimes, Span};
use super::host::HostExecutor;
use super::schedule::{Phase, Schedule, Spread};
use crate::device::driver::Driver;
use crate::model::{ModelConfig, Part, Weights};

/// A batch that cannot be trained on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BatchError {
    #[error("a batch of {tokens} tokens and {targets} targets where {expected} of each belong")]
    Length {
        tokens: usize,
        targets: usize,
        expected: usize,
    },
    #[error("token {token} at position {position} of the batch: the vocabulary has {vocabulary}")]
    OutsideVocabulary {
        token: i32,
        position: usize,
        vocabulary: usize,
    },
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Each phase: true times of each, which a graph cannot tell, so none is used.
    Phases,
    /// The whole step.
    Step,
    /// Nothing: steps follow each other without the host in between.
    Never,
}

/// What one step gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// Before the update; `None` where nothing was waited for: see [`Trainer::last_losses`].
    pub loss: Option<f32>,
    /// Milliseconds on the host's clock.
    pub total: f64,
    /// Where phases were waited for.
    pub phases: Option<PhaseTimes>,
    pub launches: Launches,
}

/// One launch of a profiled step.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTime {
    pub name: &'static str,
    pub part: Part,
    pub phase: Phase,
    pub milliseconds: f64,
    /// What it must compute and move.
    pub cost: Cost,
}

/// A value for each scalar of each parameter, by the parameter's name, in the order of names.
pub type NamedValues = Vec<(String, Vec<f32>)>;

/// A model in training.
pub struct Trainer {
    executor: Box<dyn Executor>,
    spread: Spread,
    placed: Option<(Vec<i32>, Vec<i32>)>,
}

impl Trainer {
    /// A trainer on this machine's cores, in f32.
    ///
    /// # Errors
    /// None so far.
    pub fn on_host(
        config: &ModelConfig,
        weights: &Weights,
        hyperparameters: Hyperparameters,
    ) -> Result<Self> {
        let schedule = Schedule::new(config, Spread::SERIAL);
        let executor = HostExecutor::new(schedule, hyperparameters);
        Trainer::new(Box::new(executor), weights, Spread::SERIAL)
    }

    /// A trainer on a GPU.
    ///
    /// # Errors
    /// What the device reports, or that the kernels do not cover the model.
    pub fn on_device(
        driver: Driver,
        config: &ModelConfig,
        weights: &Weights,
        hyperparameters: Hyperparameters,
        options: DeviceOptions,
        spread: Spread,
    ) -> Result<Self> {
        let schedule = Schedule::new(config, spread);
        let executor = DeviceExecutor::new(driver, schedule, hyperparameters, options)?;
        Trainer::new(Box::new(executor), weights, spread)
    }

    /// Puts `weights` onto an executor, whose schedule was made with `spread`.
    ///
    /// # Errors
    /// What the device reports.
    pub fn new(mut executor: Box<dyn Executor>, weights: &Weights, spread: Spread) -> Result<Self> {
        let values = executor.schedule().layout.place(weights);
        executor.set_weights(&values)?;
        Ok(Trainer {
            executor,
            spread,
            placed: None,
        })
    }

    pub fn config(&self) -> &ModelConfig {
        &self.executor.schedule().config
    }

    pub fn schedule(&self) -> &Schedule {
        self.executor.schedule()
    }

    /// Goes on with another batch size or sequence length; parameters and moments stay.
    ///
    /// # Errors
    /// What the device reports; everything is as before then.
    pub fn reshape(&mut self, batch_size: usize, sequence_length: usize) -> Result<()> {
        let config = ModelConfig {
            batch_size,
            sequence_length,
            ..*self.config()
        };
        self.executor.reshape(Schedule::new(&config, self.spread))?;
        self.placed = None;
        Ok(())
    }

    /// Trains on a batch once: `B x S` tokens and what follows each.
    ///
    /// # Errors
    /// [`BatchError`], or what the device reports.
    pub fn step(&mut self, tokens: &[i32], targets: &[i32], wait: Wait) -> Result<StepResult> {
        self.place(tokens, targets)?;
        let started = Instant::now();
        let (launches, phases) = match wait {
            Wait::Phases => {
                let (launches, times) = self.executor.run_phases()?;
                (launches, Some(times))
            }
            Wait::Step => {
                let launches = self.executor.run(Span::Step)?;
                self.executor.wait()?;
                (launches, None)
            }
            Wait::Never => (self.executor.run(Span::Step)?, None),
        };
        let total = started.elapsed().as_secs_f64() * 1e3;
        let loss = match wait {
            Wait::Never => None,
            Wait::Step | Wait::Phases => self.last_losses(1)?.first().copied(),
        };
        Ok(StepResult {
            loss,
            total,
            phases,
            launches,
        })
    }

    /// Losses of the last steps, oldest first; waits for them.
    ///
    /// # Errors
    /// What the device reports.
    pub fn last_losses(&mut self, count: usize) -> Result<Vec<f32>> {
        self.executor.last_losses(count)
    }

    /// Waits until everything started is done.
    ///
    /// # Errors
    /// What the device reports.
    pub fn wait(&mut self) -> Result<()> {
        self.executor.wait()
    }

    /// Loss and every parameter's gradient by name, at the current parameters.
    ///
    /// # Errors
    /// [`BatchError`], or what the device reports.
    pub fn gradients(&mut self, tokens: &[i32], targets: &[i32]) -> Result<(f32, NamedValues)> {
        self.place(tokens, targets)?;
        self.executor.run(Span::Gradients)?;
        let loss = self.last_losses(1)?.first().copied().unwrap_or(f32::NAN);
        let all = self.executor.gradients()?;
        Ok((loss, self.by_name(&all)))
    }

    /// Every parameter by name.
    ///
    /// # Errors
    /// What the device reports.
    pub fn weights(&mut self) -> Result<NamedValues> {
        let all = self.executor.weights()?;
        Ok(self.by_name(&all))
    }

    fn by_name(&self, all: &[f32]) -> NamedValues {
        let parameters = &self.executor.schedule().layout.parameters;
        let mut list: Vec<_> = parameters
            .iter()
            .map(|parameter| (parameter.name.clone(), all[parameter.range()].to_vec()))
            .collect();
        list.sort_by(|a, b| a.0.cmp(&b.0));
        list
    }

    /// Logits `[s, V]` of one sample of at most S tokens.
    ///
    /// # Errors
    /// [`BatchError`], or what the device reports.
    pub fn logits(&mut self, tokens: &[i32]) -> Result<Vec<f32>> {
        let (expected, vocabulary) = (self.config().tokens(), self.config().vocabulary);
        if tokens.len() > self.config().sequence_length {
            return Err(BatchError::Length {
                tokens: tokens.len(),
                targets: tokens.len(),
                expected: self.config().sequence_length,
            }
            .into());
        }
        // Later positions change nothing before them, and other samples nothing here.
        let mut padded = tokens.to_vec();
        padded.resize(expected, 0);
        self.place(&padded, &vec![0; expected])?;
        self.executor.run(Span::Forward)?;
        let mut logits = self.executor.logits()?;
        logits.truncate(tokens.len() * vocabulary);
        Ok(logits)
    }

    /// One more step, launch by launch, with the time of each.
    ///
    /// # Errors
    /// [`BatchError`], or what the device reports.
    pub fn kernels(&mut self, tokens: &[i32], targets: &[i32]) -> Result<Vec<NodeTime>> {
        self.place(tokens, targets)?;
        let times = self.executor.profile()?;
        let (schedule, operand) = (self.executor.schedule(), self.executor.operand_bytes());
        let nodes = schedule.nodes.iter().zip(times).enumerate();
        let times = nodes.map(|(index, (node, milliseconds))| NodeTime {
            name: node.operation.name(),
            part: node.part,
            phase: node.phase,
            milliseconds,
            cost: schedule.cost(index, operand),
        });
        Ok(times.collect())
    }

    /// `None` where nobody counts.
    pub fn memory(&self) -> Option<MemoryHeld> {
        self.executor.memory()
    }

    /// Whether steps are replayed from a graph; otherwise why not.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn captured(&self) -> Result<(), String> {
        self.executor.captured()
    }

    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        let there = self.placed.as_ref();
        if there.is_some_and(|(t, u)| t == tokens && u == targets) {
            return Ok(());
        }
        let expected = self.config().tokens();
        if tokens.len() != expected || targets.len() != expected {
            return Err(BatchError::Length {
                tokens: tokens.len(),
                targets: targets.len(),
                expected,
            }
            .into());
        }
        let vocabulary = self.config().vocabulary;
        let all = tokens.iter().chain(targets).enumerate();
        for (index, token) in all {
            if usize::try_from(*token).is_ok_and(|token| token < vocabulary) {
                continue;
            }
            return Err(BatchError::OutsideVocabulary {
                token: *token,
                position: index % expected,
                vocabulary,
            }
            .into());
        }
        self.executor.place(tokens, targets)?;
        self.placed = Some((tokens.to_vec(), targets.to_vec()));
        Ok(())
    }
}
