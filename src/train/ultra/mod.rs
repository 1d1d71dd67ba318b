//! A run of V4: the same events as every other target, from a step that is scheduled by hand.

mod block;
mod device;
pub mod products;
mod profile;

use anyhow::{Context as _, Result};

use super::compile_progress::CompileProgress;
use super::data::{Batch, Data};
use super::event::{Body, Note, Phase, PhaseName, Repeatability, Step};
use super::options::{Ending, Options, dtype_name};
use super::reporter::Reporter;
use super::stop::StopSignal;
use super::telemetry::{LaunchCounter, Recording};
use super::trainer::Synchronize;
use super::{kernel_table, repeatability, trace};
use crate::device::OpenDevice;
use crate::model::ultra::{Trainer, Wait};
use crate::model::{Weights, work};
pub use device::{UltraDevice, open};

/// How f32 products are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MatmulPrecision {
    /// tf32 where the device's matrix library offers it, f32 elsewhere: most AMD GPUs
    Auto,
    /// Operands keep all their bits
    F32,
    /// Operands are rounded to 11 bits for the matrix units
    Tf32,
}

/// Whose matrix products a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Gemm {
    /// What the target has: the vendor's for v4 on CUDA or HIP, burn's own for v4 on Vulkan and all others
    Auto,
    /// The vendor's library: cuBLASLt, hipBLASLt or rocBLAS; v4 on CUDA or HIP
    Vendor,
    /// burn's own, called cubek; v4 then goes through burn as the others do, and without a graph
    Cubek,
}

/// How V4 computes a block beside its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BlockForm {
    /// The whole forward pass of a block in one launch
    Single,
}

/// What only V4 is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UltraOptions {
    /// Capture the step as a graph and replay it.
    pub capture: bool,
    pub matmul_precision: MatmulPrecision,
    pub gemm: Gemm,
    /// Compare this form of a block with the schedule's at the end.
    pub block: Option<BlockForm>,
}

/// Trains and emits every event but the first and the last.
///
/// # Errors
/// What the device reports, or a trace file that cannot be written.
pub fn train(
    options: &Options,
    device: &UltraDevice,
    weights: &Weights,
    mut data: Data,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Result<Ending> {
    if options.ultra.block.is_some() {
        // Found out now, not after the training.
        device.driver("--block single")?;
    }
    if device.client().is_none() {
        reporter.emit(Body::Phase(Phase {
            phase: PhaseName::Compile,
            progress: None,
            eta_s: None,
            message: "compiling kernels, timing the matrix library's algorithms".into(),
        }));
    }
    let mut run = Run {
        options,
        device,
        weights,
        reporter,
        stop,
        trainer: device.trainer(options, weights)?,
        observed: burn_gpu(device).map(|_| LaunchCounter::start()),
    };
    let total = options.warmup + options.steps;
    for n in 1..=total {
        if let Some(reason) = stop.reason() {
            return Ok(Ending::Stopped(reason));
        }
        run.announce(n);
        let loss = run.step(n, total, &data.next_batch())?;
        if !loss.is_finite() {
            return Ok(Ending::NotFinite(n));
        }
    }
    if let Some(reason) = stop.reason() {
        return Ok(Ending::Stopped(reason));
    }
    run.after_training(&data.next_batch())
}

/// The GPU that burn launches on, if V4 goes through it.
fn burn_gpu(device: &UltraDevice) -> Option<&OpenDevice> {
    device
        .client()
        .filter(|open| open.backend.is_asynchronous())
}

struct Run<'a> {
    options: &'a Options,
    device: &'a UltraDevice,
    weights: &'a Weights,
    reporter: &'a Reporter,
    stop: &'a StopSignal,
    trainer: Trainer,
    /// Where burn launches: it queues and fuses, so only an observer sees how many launches a step has.
    observed: Option<LaunchCounter>,
}

impl Run<'_> {
    fn announce(&self, n: usize) {
        let warmup = self.options.warmup;
        // Burn compiles and tunes in the first step, which is then announced as that.
        let first = if self.observed.is_some() { 2 } else { 1 };
        let (phase, message) = match n {
            n if n < first => return,
            n if n == first && n <= warmup => (
                PhaseName::WarmUp,
                format!("{warmup} steps that are not counted"),
            ),
            n if n == warmup + 1 => (
                PhaseName::Measure,
                format!("{} counted steps", self.options.steps),
            ),
            _ => return,
        };
        self.reporter.emit(Body::Phase(Phase {
            phase,
            progress: None,
            eta_s: None,
            message,
        }));
    }

    fn step(&mut self, n: usize, of: usize, batch: &Batch) -> Result<f64> {
        let wait = match self.options.synchronize {
            Synchronize::Phases => Wait::Phases,
            Synchronize::Step | Synchronize::HostParts => Wait::Step,
            Synchronize::Never => Wait::Never,
        };
        let facts = &self.device.facts;
        let (name, on_device) = (&facts.name, facts.backend.is_asynchronous());
        let compiling = match (n, burn_gpu(self.device)) {
            (1, Some(open)) => Some(self.compile_progress(open)),
            _ => None,
        };
        let before = self.observed.as_ref().map(LaunchCounter::total);
        let result = self
            .trainer
            .step(&batch.tokens, &batch.targets, wait)
            .with_context(|| format!("training step {n} failed on {name}"))?;
        let loss = match result.loss {
            Some(loss) => Some(loss),
            None => self.trainer.last_losses(1)?.first().copied(),
        };
        let loss = loss.map_or(f64::NAN, f64::from);
        if let Some(progress) = compiling {
            progress.finish();
        }
        // The loss is read and with it everything queued has been launched; reading it launches nothing.
        let after = self.observed.as_ref().map(LaunchCounter::total);
        let (launches, captured) = match (before.zip(after), on_device) {
            (Some((before, after)), _) => (Some(after - before), None),
            (None, true) => {
                let launches = result.launches;
                (Some(launches.host), Some(launches.captured))
            }
            (None, false) => (None, None),
        };
        let memory = self.trainer.memory();
        self.reporter.step(Step {
            n,
            of,
            measured: n > self.options.warmup,
            loss,
            total_ms: result.total,
            forward_ms: result.phases.map(|phases| phases.forward),
            backward_ms: result.phases.map(|phases| phases.backward),
            optimizer_ms: result.phases.map(|phases| phases.optimizer),
            synchronized: wait != Wait::Never || !on_device,
            launches,
            captured,
            bytes_in_use: memory.map(|memory| memory.now),
            bytes_reserved: memory.map(|memory| memory.peak),
            samples_per_s: self.options.config.batch_size as f64 / (result.total / 1e3),
        });
        Ok(loss)
    }

    fn compile_progress(&self, open: &OpenDevice) -> CompileProgress {
        let key = format!(
            "v4 through burn {} {} {:?} {}",
            open.backend,
            open.name,
            self.options.config,
            dtype_name(self.options.operand_dtype),
        );
        let launches = self.observed.as_ref().map(LaunchCounter::share);
        CompileProgress::start(self.reporter.clone(), key, move || {
            launches.as_ref().map(|count| count.total())
        })
    }

    fn after_training(mut self, batch: &Batch) -> Result<Ending> {
        if let Err(why) = self.trainer.captured()
            && self.options.ultra.capture
            && !self.device.is_host()
        {
            self.note(format!("the step was not replayed from a graph: {why}"));
        }
        let repeated = self.repeat(batch)?;
        let identical = repeated.identical;
        if self.options.check_repeatability {
            self.reporter
                .update(|tally| tally.repeatability = Some(repeated));
        }
        let recording = if self.options.profile_steps > 0 {
            Some(self.profile(batch)?)
        } else {
            None
        };
        if self.options.count_work {
            let counted = work::training_step(&self.options.config, &self.options.recipe);
            let parts =
                kernel_table::parts(&counted, recording.as_ref(), self.reporter.median_ms());
            self.reporter.emit(Body::Parts(parts));
        }
        if self.options.ultra.block == Some(BlockForm::Single) {
            let compared = block::compare(self.device, self.options, self.weights, batch)?;
            self.reporter.emit(Body::Block(compared));
        }
        if self.options.sample > 0 {
            self.note("no sample: --sample is for v1, v2 and v3".into());
        }
        Ok(if self.options.deterministic && !identical {
            Ending::NotDeterministic
        } else {
            Ending::Complete
        })
    }

    /// Two repeats of a step's gradients; also says how many parameters got one.
    fn repeat(&mut self, batch: &Batch) -> Result<Repeatability> {
        let first = self.trainer.gradients(&batch.tokens, &batch.targets)?;
        let again = self.trainer.gradients(&batch.tokens, &batch.targets)?;
        let with_gradient = first
            .1
            .iter()
            .filter(|(_, gradient)| gradient.iter().any(|value| *value != 0.0))
            .count();
        self.reporter
            .update(|tally| tally.parameters_with_gradient = Some(with_gradient));
        Ok(repeatability::compare_pair(first, again))
    }

    /// Times every launch: those that burn makes as in the other targets, all others node by node.
    fn profile(&mut self, batch: &Batch) -> Result<Recording> {
        let (table, recording) = if let Some(open) = burn_gpu(self.device) {
            let (steps, stop) = (self.options.profile_steps, self.stop);
            self.reporter.emit(Body::Phase(Phase {
                phase: PhaseName::Profile,
                progress: None,
                eta_s: None,
                message: format!("{steps} steps with every kernel timed"),
            }));
            let recording = profile::observe(&mut self.trainer, batch, &open.device, steps, stop)?;
            (kernel_table::kernels(&recording), recording)
        } else {
            let times = self.trainer.kernels(&batch.tokens, &batch.targets)?;
            (profile::table(&times), profile::recording(&times))
        };
        self.reporter.emit(Body::Kernels(table));
        if let Some(path) = &self.options.trace {
            trace::write_chrome_trace(path, &recording)?;
        }
        Ok(recording)
    }

    fn note(&self, message: String) {
        self.reporter.emit(Body::Note(Note { message }));
    }
}
