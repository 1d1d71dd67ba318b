//! Implements the training loop's engine with V4.

use std::borrow::Cow;

use anyhow::Result;

use super::platform::ExecutorKind;
use super::ranks::Ranks;
use super::schedule::{Concurrency, Schedule};
use super::trainer::ScheduleTrainer;
use crate::model::Part;
use crate::model::work::Work;
use crate::train::event::RankCheck;
use crate::train::telemetry::{LaunchCount, LaunchCounter, Trace, observe};
use crate::train::{
    Batch, Engine, Evaluation, Profiling, StepResult, StopSignal, Synchronize, TrainingOptions,
    rank_batch,
};

/// A trainer, and the facts of its executor that the training loop needs.
pub struct ScheduledEngine {
    pub trainer: ScheduleTrainer,
    pub kind: ExecutorKind,
    /// Burn queues and fuses on a GPU, so only an observer can count the launches of a step. On the CPU it counts this
    /// project's kernels, as it does for the targets that run through burn there.
    pub counter: Option<LaunchCounter>,
    /// True if a graph was requested.
    pub capture: bool,
    /// Set if this engine is one of several ranks.
    pub ranks: Option<Ranks>,
}

impl ScheduledEngine {
    /// Returns this engine's share of a batch.
    fn own_share<'a>(&self, batch: &'a Batch) -> Cow<'a, Batch> {
        match &self.ranks {
            Some(ranks) => Cow::Owned(rank_batch(&ranks.options, batch)),
            None => Cow::Borrowed(batch),
        }
    }

    fn observed(&self) -> Option<u64> {
        self.counter.as_ref().map(LaunchCounter::total)
    }
}

impl Engine for ScheduledEngine {
    fn step(&mut self, batch: &Batch, synchronize: Synchronize) -> Result<StepResult> {
        let before = self.observed();
        let batch = self.own_share(batch);
        let (tokens, targets) = (&batch.tokens, &batch.targets);
        let step = self.trainer.step(tokens, targets, synchronize)?;
        let loss = f64::from(self.trainer.last_loss()?);
        // The loss has been read, so everything queued has been launched. Reading it launches nothing.
        let observed = self.observed().zip(before);
        let observed = observed.map(|(after, before)| after - before);
        let counts = matches!(self.kind, ExecutorKind::Driver { .. }) || step.launches.captured > 0;
        let own = counts.then_some(step.launches);
        Ok(StepResult {
            loss,
            times: step.times,
            launches: own.map(|launches| launches.host).or(observed),
            captured: own.map(|launches| launches.captured),
            memory: self.trainer.executor.memory(),
            with_gradient: None,
            waited: self.trainer.executor.communication_wait(),
        })
    }

    fn gradients(&mut self, batch: &Batch) -> Result<Evaluation> {
        let batch = self.own_share(batch);
        let (loss, gradients) = self.trainer.gradients(&batch.tokens, &batch.targets)?;
        let gradients = gradients.into_iter();
        Ok(Evaluation {
            loss,
            gradients: gradients.map(|(name, it)| (name, Some(it))).collect(),
        })
    }

    fn optimizer_state(&mut self) -> Result<Vec<(&'static str, Vec<f32>)>> {
        self.trainer.executor.optimizer_state()
    }

    fn profile(&mut self, batch: &Batch, steps: usize, stop: &StopSignal) -> Result<Trace> {
        let batch = self.own_share(batch);
        let (tokens, targets) = (&batch.tokens, &batch.targets);
        let trainer = &mut self.trainer;
        let (ExecutorKind::Client(open), Some(_)) = (&self.kind, &self.counter) else {
            return trainer.profile(tokens, targets);
        };
        trainer.executor.wait()?;
        observe(&open.device, steps, stop, |pass| {
            pass.span("step", || trainer.step(tokens, targets, Synchronize::Never))?;
            pass.span("wait for the device", || trainer.executor.wait())
        })
    }

    fn profiling(&self) -> Profiling {
        match (&self.kind, &self.counter) {
            (ExecutorKind::Client(_), Some(_)) => Profiling::Observed,
            (ExecutorKind::Client(_), None) => Profiling::OneByOne(Some(
                "times of the kernel table: the host's clock around each operation handed to burn, with a wait behind it",
            )),
            _ => Profiling::OneByOne(None),
        }
    }

    fn logits(&mut self, tokens: &[i32]) -> Result<Vec<f32>> {
        self.trainer.logits(tokens)
    }

    fn compare_ranks(&mut self, batch: &Batch) -> Result<Option<RankCheck>> {
        match &self.ranks {
            Some(ranks) => ranks.compare(&mut self.trainer, batch),
            None => Ok(None),
        }
    }

    fn launches(&self) -> Option<LaunchCount> {
        // Nothing compiles on a CPU, so its launches show no progress.
        let compiling = self.counter.as_ref();
        let compiling = compiling.filter(|_| !matches!(self.kind, ExecutorKind::Host));
        compiling.map(LaunchCounter::shared_counter)
    }

    fn work(&self, options: &TrainingOptions) -> Vec<(Part, Work)> {
        let schedule = Schedule::new(&options.config, Concurrency::NONE);
        schedule.work_by_part(self.trainer.executor.operand_bytes())
    }

    fn remark(&self) -> Option<String> {
        let wanted = self.capture && !matches!(self.kind, ExecutorKind::Host);
        let why = self.trainer.executor.captured().err().filter(|_| wanted);
        let graph = why.map(|why| format!("the step was not replayed from a graph: {why}"));
        let not_kept = match &self.kind {
            ExecutorKind::Driver { driver, .. } => driver.cache_error(),
            _ => None,
        };
        let cache = not_kept.map(|why| {
            format!(
                "compiled kernels could not be kept, so every start compiles them again ({why})"
            )
        });
        let remarks: Vec<String> = graph.into_iter().chain(cache).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }
}
