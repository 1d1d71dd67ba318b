//! Trains with a schedule, on any executor.

use std::time::Instant;

use anyhow::{Result, bail};

use super::executor::{Executor, Launches, StepSpan};
#[cfg(test)]
use super::schedule::Schedule;
use super::schedule::StepPhase;
use crate::model::{ModelConfig, Weights};
use crate::train::telemetry::{KernelLaunch, Trace};
use crate::train::{StepTimes, Synchronize};

/// Result of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainerStep {
    /// Times on the host's clock. The times of parts exist if phases were waited for.
    pub times: StepTimes,
    pub launches: Launches,
}

/// Values of each parameter with the parameter's name, in the order of names.
pub type NamedValues = Vec<(String, Vec<f32>)>;

/// A model in training.
pub struct ScheduleTrainer {
    pub(super) executor: Box<dyn Executor>,
    placed: Option<(Vec<i32>, Vec<i32>)>,
}

impl ScheduleTrainer {
    /// Puts `weights` onto an executor.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(executor: Box<dyn Executor>, weights: &Weights) -> Result<Self> {
        let values = executor.schedule().layout.place(weights);
        ScheduleTrainer::resume(executor, &values)
    }

    /// Creates a trainer with all parameters of another one, in the layout of the schedule.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn resume(mut executor: Box<dyn Executor>, values: &[f32]) -> Result<Self> {
        executor.set_weights(values)?;
        Ok(ScheduleTrainer {
            executor,
            placed: None,
        })
    }

    pub fn config(&self) -> &ModelConfig {
        &self.executor.schedule().config
    }

    #[cfg(test)]
    pub fn schedule(&self) -> &Schedule {
        self.executor.schedule()
    }

    /// Trains on a batch once: `B x S` tokens and the token that follows each. Read its loss with
    /// [`last_loss`](Self::last_loss).
    ///
    /// # Errors
    /// A batch that does not fit the model, or errors of the device.
    pub fn step(
        &mut self,
        tokens: &[i32],
        targets: &[i32],
        synchronize: Synchronize,
    ) -> Result<TrainerStep> {
        self.place(tokens, targets)?;
        let started = Instant::now();
        let mut launches = Launches::default();
        let mut parts = [None; 3];
        if synchronize == Synchronize::Phases {
            // A graph is one piece without times of its parts, so this step does not use it.
            self.executor.wait()?;
            let phases = [
                StepPhase::Forward,
                StepPhase::Backward,
                StepPhase::Optimizer,
            ];
            for (phase, part) in phases.into_iter().zip(&mut parts) {
                let started = Instant::now();
                launches.host += self.executor.run(StepSpan::Only(phase))?.host;
                self.executor.wait()?;
                *part = Some(started.elapsed().as_secs_f64() * 1e3);
            }
        } else {
            launches = self.executor.run(StepSpan::Step)?;
            if synchronize != Synchronize::Never {
                self.executor.wait()?;
            }
        }
        let [forward, backward, optimizer] = parts;
        Ok(TrainerStep {
            times: StepTimes {
                total: started.elapsed().as_secs_f64() * 1e3,
                forward,
                backward,
                optimizer,
            },
            launches,
        })
    }

    /// Returns the loss of the last step and waits for it. NaN before the first step.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn last_loss(&mut self) -> Result<f32> {
        let losses = self.executor.last_losses(1)?;
        Ok(losses.first().copied().unwrap_or(f32::NAN))
    }

    /// Returns loss and every parameter's gradient by name, at the current parameters.
    ///
    /// # Errors
    /// A batch that does not fit the model, or errors of the device.
    pub fn gradients(&mut self, tokens: &[i32], targets: &[i32]) -> Result<(f32, NamedValues)> {
        self.place(tokens, targets)?;
        self.executor.run(StepSpan::Gradients)?;
        let loss = self.last_loss()?;
        let all = self.executor.gradients()?;
        Ok((loss, self.by_name(&all)))
    }

    /// Returns every parameter by name.
    ///
    /// # Errors
    /// Errors of the device.
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

    /// Returns the logits `[s, V]` of one sample of at most S tokens.
    ///
    /// # Errors
    /// A batch that does not fit the model, or errors of the device.
    pub fn logits(&mut self, tokens: &[i32]) -> Result<Vec<f32>> {
        let (expected, vocabulary) = (self.config().tokens(), self.config().vocabulary);
        let (given, most) = (tokens.len(), self.config().sequence_length);
        if given > most {
            bail!("a sample of {given} tokens where {most} belong");
        }
        // Later positions do not affect earlier ones, and samples do not affect each other, so padding changes nothing.
        let mut padded = tokens.to_vec();
        padded.resize(expected, 0);
        self.place(&padded, &vec![0; expected])?;
        self.executor.run(StepSpan::Only(StepPhase::Forward))?;
        let mut logits = self.executor.logits()?;
        logits.truncate(tokens.len() * vocabulary);
        Ok(logits)
    }

    /// Runs one more step launch by launch and times each alone, one after the other.
    ///
    /// # Errors
    /// A batch that does not fit the model, or errors of the device.
    pub fn profile(&mut self, tokens: &[i32], targets: &[i32]) -> Result<Trace> {
        self.place(tokens, targets)?;
        let times = self.executor.profile()?;
        let (schedule, operand) = (self.executor.schedule(), self.executor.operand_bytes());
        let mut now = 0.0;
        let nodes = schedule.nodes.iter().zip(times).enumerate();
        let launches = nodes.map(|(index, (node, milliseconds))| {
            let start = now;
            now += milliseconds / 1e3;
            KernelLaunch {
                kernel: node.operation.name(),
                part: node.counted_part(),
                within: Some(node.part),
                fused_operations: None,
                work: Some(schedule.work(index, operand)),
                device: Some((start, now)),
            }
        });
        Ok(Trace {
            steps: 1,
            launches: launches.collect(),
            host: vec![],
            one_by_one: true,
            partial: false,
        })
    }

    fn place(&mut self, tokens: &[i32], targets: &[i32]) -> Result<()> {
        let there = self.placed.as_ref();
        if there.is_some_and(|(t, u)| t == tokens && u == targets) {
            return Ok(());
        }
        let expected = self.config().tokens();
        let given = [tokens.len(), targets.len()];
        if given != [expected; 2] {
            let [tokens, targets] = given;
            bail!(
                "a batch of {tokens} tokens and {targets} targets where {expected} of each belong"
            );
        }
        let vocabulary = self.config().vocabulary;
        let is_known = |token: &i32| usize::try_from(*token).is_ok_and(|it| it < vocabulary);
        let mut all = tokens.iter().chain(targets).enumerate();
        if let Some((index, token)) = all.find(|(_, token)| !is_known(token)) {
            let position = index % expected;
            bail!(
                "token {token} at position {position} of the batch: the vocabulary has {vocabulary}"
            );
        }
        self.executor.place(tokens, targets)?;
        self.placed = Some((tokens.to_vec(), targets.to_vec()));
        Ok(())
    }
}
