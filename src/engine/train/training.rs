//! One training run from the first step to the summary, for every engine.

use anyhow::{Context as _, Result};

use super::compile_progress::CompileProgress;
use super::event::RankStep;
use super::turns::Turns;
use crate::device::ranges;
use crate::model::Weights;
use crate::train::{
    Batch, Body, Data, Engine, EngineDevice, PhaseName, Profiling, Reporter, Step, StepResult,
    StopSignal, Synchronize, Trace, TrainingEnd, TrainingOptions, kernel_table, repeatability,
    sample, trace,
};
use tinyllama_contract::ranges::STEP;

/// Trains, and emits every event except the first and the last.
///
/// # Errors
/// Errors of the device, and a trace file that cannot be written.
pub fn train(
    options: &TrainingOptions,
    device: &dyn EngineDevice,
    weights: &Weights,
    mut data: Data,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Result<TrainingEnd> {
    if let Some(message) = device.preparation() {
        reporter.phase(PhaseName::Compile, message.into());
    }
    let mut run = TrainingRun {
        options,
        device,
        reporter,
        stop,
        engine: device.engine(options, weights)?,
        counts_gradients: false,
    };
    let warmup = options.flags.warmup;
    let total = warmup + options.flags.num_steps;
    let mut turns = Turns::from_environment()?;
    // A profiler that is limited to this region records nothing else: no warm-up, no tuning, no repeatability check.
    let mut region = None;
    let mut ranks_agree = true;
    for n in 1..=total {
        if let Some(reason) = stop.reason() {
            return Ok(TrainingEnd::Stopped(reason));
        }
        run.announce_phase(n);
        if n == warmup + 1 {
            region = Some(ranges::begin_counted_region());
        }
        let batch = data.next_batch();
        if n == 1 {
            // The check comes early. Later the loss is small and gradients are differences of nearly equal numbers,
            // which show little.
            ranks_agree = run.check_ranks(&batch)?;
        }
        if n == 1
            && options.report.diagnose
            && let Some(observed) = run.engine.activations(&batch)?
        {
            reporter.emit(Body::Activations(observed));
        }
        let counted = turns.as_mut().filter(|_| n > warmup);
        let loss = match counted {
            Some(turns) => {
                turns.wait(stop);
                let loss = run.step(n, total, &batch);
                turns.step_over();
                loss?
            }
            None => run.step(n, total, &batch)?,
        };
        if !loss.is_finite() {
            return Ok(TrainingEnd::NotFinite(n));
        }
    }
    drop(region);
    if let Some(turns) = turns {
        turns.finish(stop);
    }
    if let Some(reason) = stop.reason() {
        return Ok(TrainingEnd::Stopped(reason));
    }
    let batch = data.next_batch();
    let mut end = run.check_repeatability(&batch)?;
    if !ranks_agree {
        end = TrainingEnd::RanksDiffer;
    }
    run.profile_and_count(&batch)?;
    if let Some(body) = device.experiment(options, weights, &batch)? {
        reporter.emit(body);
    }
    if options.report.sample > 0 {
        run.sample(&data)?;
    }
    Ok(end)
}

struct TrainingRun<'a> {
    options: &'a TrainingOptions,
    device: &'a dyn EngineDevice,
    reporter: &'a Reporter,
    stop: &'a StopSignal,
    engine: Box<dyn Engine>,
    /// True if a step reports how many parameters got a gradient.
    counts_gradients: bool,
}

impl TrainingRun<'_> {
    fn announce_phase(&self, n: usize) {
        let (warmup, steps) = (self.options.flags.warmup, self.options.flags.num_steps);
        // A step that compiles does not count as warm-up.
        let first = if self.engine.compiles_in_first_step() {
            2
        } else {
            1
        };
        if n < first {
        } else if n == first && n <= warmup {
            let message = format!("{warmup} steps that are not counted");
            self.reporter.phase(PhaseName::WarmUp, message);
        } else if n == warmup + 1 {
            let message = format!("{steps} counted steps");
            self.reporter.phase(PhaseName::Measure, message);
        }
    }

    /// Runs one step and emits its event; returns the loss.
    fn step(&mut self, n: usize, of: usize, batch: &Batch) -> Result<f64> {
        let compiling = if n == 1 {
            self.compile_progress()
        } else {
            None
        };
        let range = ranges::range(|| STEP.into());
        let done = self.engine.step(batch, self.options.synchronize);
        let done = done.with_context(|| {
            let device = &self.device.facts().device;
            format!("training step {n} failed on {device}")
        })?;
        drop(range);
        if let Some(progress) = compiling {
            progress.finish();
        }
        if done.with_gradient.is_some() {
            self.counts_gradients = true;
            self.reporter
                .update(|tally| tally.parameters_with_gradient = done.with_gradient);
        }
        let times = done.times;
        let is_true = match self.options.synchronize {
            Synchronize::Phases | Synchronize::Step => true,
            // The step's time is right. The times of its parts are not, if it has any.
            Synchronize::HostParts => times.forward.is_none(),
            Synchronize::Never => false,
        };
        self.reporter.step(Step {
            n,
            of,
            measured: n > self.options.flags.warmup,
            loss: done.loss,
            total_ms: times.total,
            forward_ms: times.forward,
            backward_ms: times.backward,
            optimizer_ms: times.optimizer,
            // Without a queue, the host's clock is also the device's clock.
            synchronized: is_true || !self.device.backend().is_asynchronous(),
            launches: done.launches,
            captured: done.captured,
            bytes_in_use: done.memory.in_use,
            bytes_reserved: done.memory.reserved,
            samples_per_s: self.options.config.batch_size as f64 / (times.total / 1e3),
            ranks: self.of_rank(&done),
        });
        Ok(done.loss)
    }

    /// Returns what the first rank needs from each rank to report on all; empty for a run on one device.
    fn of_rank(&self, done: &StepResult) -> Vec<RankStep> {
        let ranks = self.options.ranks.iter().map(|options| RankStep {
            rank: options.rank,
            loss: done.loss,
            total_ms: done.times.total,
            waited_ms: done.waited,
        });
        ranks.collect()
    }

    /// Compares gradients over all ranks with those of one device, if there are several ranks.
    fn check_ranks(&mut self, batch: &Batch) -> Result<bool> {
        if !self
            .options
            .ranks
            .as_ref()
            .is_some_and(|ranks| ranks.flags.check_ranks.is_on())
        {
            return Ok(true);
        }
        let message = "comparing gradients over all GPUs with those of one";
        self.reporter.phase(PhaseName::Setup, message.into());
        let checked = self.engine.compare_ranks(batch);
        let checked = checked.context("comparing gradients over ranks with one device's failed")?;
        let agree = checked.as_ref().is_none_or(|check| check.passed);
        self.reporter.update(|tally| tally.rank_check = checked);
        Ok(agree)
    }

    /// Shows progress if the first step compiles on a device, whose caches may be empty.
    fn compile_progress(&self) -> Option<CompileProgress> {
        let launches = self.engine.launches()?;
        let key = format!(
            "{} {} {} {:?} {}",
            self.options.target,
            self.device.backend(),
            self.device.facts().device,
            self.options.config,
            self.options.operand_dtype().name(),
        );
        Some(CompileProgress::start(
            self.reporter.clone(),
            key,
            move || launches.total(),
        ))
    }

    /// Checks that steps repeat. This and all later checks come after the counted steps and so disturb none of them.
    fn check_repeatability(&mut self, batch: &Batch) -> Result<TrainingEnd> {
        if let Some(remark) = self.engine.remark() {
            self.reporter.note(remark);
        }
        if self.counts_gradients && !self.options.checks_repeatability() {
            return Ok(TrainingEnd::Complete);
        }
        let (result, with_gradient) = repeatability::check(self.engine.as_mut(), batch)
            .context("comparing two repeats of a step failed")?;
        let identical = result.identical;
        if self.options.flags.on.deterministic && !identical {
            let culprit = match &result.differing_parameter {
                Some(name) => {
                    format!("the gradient of {name} first: its kernel adds in an order that varies")
                }
                None => "the loss itself".into(),
            };
            self.reporter.note(format!(
                "two repeats of the same step differ on {}: {culprit}",
                self.device.facts().device
            ));
        }
        self.reporter.update(|tally| {
            tally.parameters_with_gradient.get_or_insert(with_gradient);
            if self.options.checks_repeatability() {
                tally.repeatability = Some(result);
            }
        });
        Ok(if self.options.flags.on.deterministic && !identical {
            TrainingEnd::NotDeterministic
        } else {
            TrainingEnd::Complete
        })
    }

    fn profile_and_count(&mut self, batch: &Batch) -> Result<()> {
        let trace = match self.options.report.profile_steps {
            0 => None,
            steps => self.profile(batch, steps)?,
        };
        if self.options.report.flops {
            let counted = self.engine.work(self.options);
            let median = self.reporter.median_ms();
            let parts = kernel_table::parts(&counted, trace.as_ref(), median);
            self.reporter.emit(Body::Parts(parts));
        }
        Ok(())
    }

    /// Times every kernel of a few more steps. Returns `None` if the run launches no kernel.
    fn profile(&mut self, batch: &Batch, steps: usize) -> Result<Option<Trace>> {
        let profiling = self.engine.profiling();
        let launches = !matches!(profiling, Profiling::HostOnly(_));
        match profiling {
            Profiling::Observed => {
                let message = format!("{steps} steps with every kernel timed");
                self.reporter.phase(PhaseName::Profile, message);
            }
            Profiling::OneByOne(remark) => {
                if let Some(remark) = remark {
                    self.reporter.note(remark.into());
                }
            }
            Profiling::HostOnly(why) => self.reporter.note(format!("no kernel table: {why}")),
        }
        if !launches && self.options.report.trace.is_none() {
            return Ok(None);
        }
        let observed = self.engine.profile(batch, steps, self.stop)?;
        if launches {
            let table = kernel_table::kernels(&observed);
            self.reporter.emit(Body::Kernels(table));
        }
        if let Some(path) = &self.options.report.trace {
            trace::write_trace(path, &observed)?;
        }
        Ok(launches.then_some(observed))
    }

    fn sample(&mut self, data: &Data) -> Result<()> {
        let Some(prompt) = data.prompt(sample::PROMPT_BYTES) else {
            self.reporter
                .note("no text to continue: --sample needs --data FILE".into());
            return Ok(());
        };
        let window = self.options.config.sequence_length;
        let length = self.options.report.sample;
        let sample = sample::continue_text(self.engine.as_mut(), prompt, window, length)
            .context("continuing the text failed")?;
        self.reporter.emit(Body::Sample(sample));
        Ok(())
    }
}
