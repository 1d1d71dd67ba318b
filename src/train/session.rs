//! One training run from the first step to the summary.

use anyhow::{Context as _, Result};

use super::activations;
use super::compile_progress::CompileProgress;
use super::data::Data;
use super::event::{Body, Note, Phase, PhaseName, Step};
use super::options::{Ending, Options, dtype_name};
use super::reporter::Reporter;
use super::stop::StopSignal;
use super::telemetry::{LaunchCounter, ProfilePass, Recording};
use super::trainer::{DeviceBatch, StepResult, Trainer};
use super::{kernel_table, repeatability, sample, trace};
use crate::device::OpenDevice;
use crate::model::{Context, Llama, Precision, Weights, work};

/// Repeats of a step compared to say whether it is repeatable.
const REPEATS: usize = 2;

/// Trains and emits every event but the first and the last.
///
/// # Errors
/// What the device reports, or a trace file that cannot be written.
pub fn train(
    options: &Options,
    open: &OpenDevice,
    weights: &Weights,
    mut data: Data,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Result<Ending> {
    let mut run = Run::new(options, open, weights, reporter, stop);
    let total = options.warmup + options.steps;
    for n in 1..=total {
        if let Some(reason) = stop.reason() {
            return Ok(Ending::Stopped(reason));
        }
        run.announce_phase(n);
        let batch = run.trainer.place(&data.next_batch());
        if n == 1 && options.diagnose {
            let observed = activations::observe(&run.trainer, &batch)?;
            reporter.emit(Body::Activations(observed));
        }
        let loss = run.step(n, total, &batch)?;
        if !loss.is_finite() {
            return Ok(Ending::NotFinite(n));
        }
    }
    if let Some(reason) = stop.reason() {
        return Ok(Ending::Stopped(reason));
    }
    let batch = run.trainer.place(&data.next_batch());
    run.after_training(&batch, &data)
}

struct Run<'a> {
    options: &'a Options,
    open: &'a OpenDevice,
    reporter: &'a Reporter,
    stop: &'a StopSignal,
    trainer: Trainer,
    /// Only where launches are counted at all: the CPU backend has none.
    launches: Option<LaunchCounter>,
}

impl<'a> Run<'a> {
    fn new(
        options: &'a Options,
        open: &'a OpenDevice,
        weights: &Weights,
        reporter: &'a Reporter,
        stop: &'a StopSignal,
    ) -> Self {
        let device = open.device.clone();
        let training_device = device.clone().autodiff();
        let precision = Precision::with_operands(options.operand_dtype);
        let model = Llama::new(
            &options.config,
            weights,
            &options.recipe,
            precision,
            &training_device,
        );
        let context = Context::new(options.config, options.recipe, precision, &device);
        Run {
            options,
            open,
            reporter,
            stop,
            trainer: Trainer::new(
                device,
                model,
                context,
                options.learning_rate,
                options.weight_decay,
            ),
            launches: open.backend.is_asynchronous().then(LaunchCounter::start),
        }
    }

    fn announce_phase(&self, n: usize) {
        let warmup = self.options.warmup;
        let (phase, message) = if n == 2 && n <= warmup {
            (
                PhaseName::WarmUp,
                format!("{} steps that are not counted", warmup),
            )
        } else if n == warmup + 1 && n > 1 {
            (
                PhaseName::Measure,
                format!("{} counted steps", self.options.steps),
            )
        } else {
            return;
        };
        self.phase(phase, message);
    }

    fn phase(&self, phase: PhaseName, message: String) {
        self.reporter.emit(Body::Phase(Phase {
            phase,
            progress: None,
            eta_s: None,
            message,
        }));
    }

    /// One step and its event; returns the loss.
    fn step(&mut self, n: usize, of: usize, batch: &DeviceBatch) -> Result<f64> {
        let compiling =
            (n == 1 && self.open.backend.is_asynchronous()).then(|| self.compile_progress());
        let launched_before = self.launches.as_ref().map(LaunchCounter::total);
        let synchronize = self.options.synchronize;
        let StepResult {
            loss,
            with_gradient,
            times,
            memory,
        } = self
            .trainer
            .step(batch, synchronize)
            .with_context(|| format!("training step {n} failed on {}", self.open.name))?;
        let launched = self.launches.as_ref().map(LaunchCounter::total);
        // Reading the loss waits for the device, so it comes after the clock and after the count.
        let loss = f64::from(
            loss.try_into_scalar::<f32>()
                .with_context(|| format!("the loss of step {n} could not be read back"))?,
        );
        if let Some(progress) = compiling {
            progress.finish();
        }
        self.reporter
            .update(|tally| tally.parameters_with_gradient = Some(with_gradient));
        self.reporter.step(Step {
            n,
            of,
            measured: n > self.options.warmup,
            loss,
            total_ms: times.total,
            forward_ms: times.forward,
            backward_ms: times.backward,
            optimizer_ms: times.optimizer,
            // Without a queue the host's clock is the device's.
            synchronized: synchronize.is_complete() || !self.open.backend.is_asynchronous(),
            launches: launched
                .zip(launched_before)
                .map(|(after, before)| after - before),
            captured: None,
            bytes_in_use: memory.in_use,
            bytes_reserved: memory.reserved,
            samples_per_s: self.options.config.batch_size as f64 / (times.total / 1e3),
        });
        Ok(loss)
    }

    fn compile_progress(&self) -> CompileProgress {
        let key = format!(
            "{} {} {} {:?} {}",
            self.options.target,
            self.open.backend,
            self.open.name,
            self.options.config,
            dtype_name(self.options.operand_dtype),
        );
        let launches = self.launches.as_ref().map(LaunchCounter::share);
        CompileProgress::start(self.reporter.clone(), key, move || {
            launches.as_ref().map(|count| count.total())
        })
    }

    /// What is looked at once the counted steps are over, so that it disturbs none of them.
    fn after_training(mut self, batch: &DeviceBatch, data: &Data) -> Result<Ending> {
        let mut ending = Ending::Complete;
        if self.options.check_repeatability {
            ending = self.check_repeatability(batch)?;
        }
        let recording = if self.options.profile_steps > 0 {
            self.profile(batch)?
        } else {
            None
        };
        if self.options.count_work {
            let counted = work::training_step(&self.options.config, &self.options.recipe);
            let median = self.reporter.median_ms();
            let parts = kernel_table::parts(&counted, recording.as_ref(), median);
            self.reporter.emit(Body::Parts(parts));
        }
        if self.options.sample > 0 {
            self.sample(data)?;
        }
        Ok(ending)
    }

    fn check_repeatability(&self, batch: &DeviceBatch) -> Result<Ending> {
        let result = repeatability::check(&self.trainer, batch, REPEATS)
            .context("comparing two repeats of a step failed")?;
        let identical = result.identical;
        if self.options.deterministic && !identical {
            let culprit = match &result.differing_parameter {
                Some(name) => {
                    format!("the gradient of {name} first: its kernel adds in an order that varies")
                }
                None => "the loss itself".into(),
            };
            self.note(format!(
                "two repeats of the same step differ on {}: {culprit}",
                self.open.name
            ));
        }
        self.reporter
            .update(|tally| tally.repeatability = Some(result));
        Ok(if self.options.deterministic && !identical {
            Ending::NotDeterministic
        } else {
            Ending::Complete
        })
    }

    /// Times every kernel of a few more steps. `None` where the backend launches no kernels.
    fn profile(&mut self, batch: &DeviceBatch) -> Result<Option<Recording>> {
        if !self.open.backend.is_asynchronous() {
            self.note(format!(
                "no kernel table: the {} backend computes on the host and launches no kernels",
                self.open.backend
            ));
            if let Some(path) = &self.options.trace {
                let recording = self.record_host_spans(batch)?;
                trace::write_chrome_trace(path, &recording)?;
            }
            return Ok(None);
        }
        self.phase(
            PhaseName::Profile,
            format!(
                "{} steps with every kernel timed",
                self.options.profile_steps
            ),
        );
        let recording = self.record_host_spans(batch)?;
        self.reporter
            .emit(Body::Kernels(kernel_table::kernels(&recording)));
        if let Some(path) = &self.options.trace {
            trace::write_chrome_trace(path, &recording)?;
        }
        Ok(Some(recording))
    }

    fn record_host_spans(&mut self, batch: &DeviceBatch) -> Result<Recording> {
        self.trainer
            .wait()
            .context("waiting for the device failed")?;
        let mut pass = ProfilePass::start(&self.open.device);
        for _ in 0..self.options.profile_steps {
            if self.stop.reason().is_some() {
                break;
            }
            self.trainer.profiled_step(batch, &mut pass)?;
            pass.step_done();
        }
        Ok(pass.finish())
    }

    fn sample(&self, data: &Data) -> Result<()> {
        let Some(prompt) = data.prompt(sample::PROMPT_BYTES) else {
            self.note("no text to continue: --sample needs --data FILE".into());
            return Ok(());
        };
        let sample = sample::continue_text(&self.trainer, prompt, self.options.sample)
            .context("continuing the text failed")?;
        self.reporter.emit(Body::Sample(sample));
        Ok(())
    }

    fn note(&self, message: String) {
        self.reporter.emit(Body::Note(Note { message }));
    }
}

#[cfg(test)]
mod tests;
