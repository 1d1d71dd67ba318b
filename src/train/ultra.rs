//! A run of V4: the same events as every other target, from a step that is scheduled by hand.

use anyhow::{Context as _, Result, bail};
use burn::tensor::FloatDType;

use super::data::{Batch, Data};
use super::event::{Body, Kernel, Kernels, Note, Phase, PhaseName, Repeatability, Step};
use super::reporter::Reporter;
use super::session::{Ending, Options};
use super::stop::StopSignal;
use super::telemetry::{KernelLaunch, Recording};
use super::trainer::Synchronize;
use super::{kernel_table, repeatability, trace};
use crate::device::driver::{self, Driver, GemmSpec, Precision, Selection, Vendor};
use crate::device::{Backend, BackendChoice, DeviceError, DeviceFacts, cpu_facts, library};
use crate::model::ultra::{
    DeviceExecutor, DeviceOptions, Executor, HostExecutor, Hyperparameters, MatrixPrecision,
    NodeTime, Phase as SchedulePhase, Schedule, Spread, Trainer, Tuning, Wait,
};
use crate::model::{Part, Weights, work};

/// Gradients and updates of a block beside the main chain: the fastest or within 2 % of it in every size and precision
/// that was timed on an H200.
const SPREAD: Spread = Spread {
    lanes: 2,
    update_early: true,
    layers_together: 1,
};

/// Algorithms of the matrix library that are timed for each product.
const CANDIDATES: usize = 8;

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

/// What only V4 is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UltraOptions {
    /// Capture the step as a graph and replay it.
    pub capture: bool,
    pub matmul_precision: MatmulPrecision,
}

/// Where V4 runs.
pub struct UltraDevice {
    pub facts: DeviceFacts,
    driver: Option<Driver>,
    /// Whether its matrix library rounds f32 operands for the matrix units.
    tf32: bool,
}

/// Opens a GPU's driver, or the host: V4 does without burn's backends, so none has to be part of the build.
///
/// # Errors
/// [`DeviceError`] where the choice leads nowhere.
pub fn open(choice: BackendChoice, wanted: Option<&str>) -> Result<UltraDevice> {
    match choice {
        BackendChoice::Cpu => Ok(host()),
        BackendChoice::Rocm => open_driver(Backend::Rocm, wanted),
        BackendChoice::Cuda => open_driver(Backend::Cuda, wanted),
        BackendChoice::Vulkan => bail!(DeviceError::NoDevice {
            backend: Backend::Vulkan,
            detail: Some(
                "v4 goes through the drivers of HIP or CUDA; take --backend cpu for its host form"
                    .into()
            ),
        }),
        BackendChoice::Auto => Ok([Backend::Rocm, Backend::Cuda]
            .into_iter()
            .find_map(|backend| open_driver(backend, wanted).ok())
            .unwrap_or_else(host)),
    }
}

fn host() -> UltraDevice {
    UltraDevice {
        facts: cpu_facts(),
        driver: None,
        tf32: false,
    }
}

fn open_driver(backend: Backend, wanted: Option<&str>) -> Result<UltraDevice> {
    let index = match wanted {
        None => 0,
        Some(text) => text.parse().map_err(|_| DeviceError::NoSuchDevice {
            backend,
            wanted: text.to_string(),
            present: vec!["0, 1, …".into()],
        })?,
    };
    let vendor = match backend {
        Backend::Rocm => Vendor::Amd,
        _ => Vendor::Nvidia,
    };
    let driver = driver::open(vendor, index)?;
    let properties = driver.properties();
    // Any product tells; without a library there is none, which is said where one is needed.
    let tf32 = driver
        .multiplies(&GemmSpec::new(64, 64, 64, Precision::Tf32))
        .unwrap_or(false);
    Ok(UltraDevice {
        tf32,
        facts: DeviceFacts {
            backend,
            name: properties.name.clone(),
            arch: Some(properties.arch.clone()),
            // In the words of the other targets, so that results of both are known to belong together.
            driver: library::driver_version(backend).or_else(|| Some(properties.driver.clone())),
            memory: Some(properties.memory),
        },
        driver: Some(driver),
    })
}

impl UltraDevice {
    /// How products are carried out, for the first line of a run.
    pub fn matmul_precision(&self, options: &Options) -> String {
        match (&self.driver, self.precision(options)) {
            (None, _) => "f32".into(),
            (Some(driver), Ok(precision)) => match driver.gemm_library() {
                Ok(library) => format!("{precision} operands, by {library}"),
                Err(_) => precision.to_string(),
            },
            (Some(_), Err(_)) => "unknown".into(),
        }
    }

    fn executor(&self, options: &Options) -> Result<Box<dyn Executor>> {
        let hyperparameters =
            Hyperparameters::new(options.learning_rate, f64::from(options.weight_decay));
        let Some(driver) = &self.driver else {
            if options.operand_dtype != FloatDType::F32 {
                bail!(DeviceError::UnsupportedType {
                    device: self.facts.name.clone(),
                    dtype: "bf16 or f16 in v4's host form".into(),
                });
            }
            let schedule = Schedule::new(&options.config, Spread::SERIAL);
            return Ok(Box::new(HostExecutor::new(schedule, hyperparameters)));
        };
        let device_options = DeviceOptions {
            precision: self.precision(options)?,
            capture: options.ultra.capture,
            selection: if options.deterministic {
                Selection::Heuristic
            } else {
                Selection::Measured {
                    candidates: CANDIDATES,
                }
            },
            tuning: Tuning::default(),
        };
        let schedule = Schedule::new(&options.config, SPREAD);
        let executor =
            DeviceExecutor::new(driver.clone(), schedule, hyperparameters, device_options)?;
        Ok(Box::new(executor))
    }

    /// A trainer on this device with `weights`.
    ///
    /// # Errors
    /// What the device reports; element types it has no code for.
    pub fn trainer(&self, options: &Options, weights: &Weights) -> Result<Trainer> {
        let spread = match self.driver {
            Some(_) => SPREAD,
            None => Spread::SERIAL,
        };
        Trainer::new(self.executor(options)?, weights, spread)
    }

    fn precision(&self, options: &Options) -> Result<MatrixPrecision> {
        Ok(
            match (options.operand_dtype, options.ultra.matmul_precision) {
                (FloatDType::BF16, _) => MatrixPrecision::Bf16,
                (FloatDType::F32, MatmulPrecision::Tf32) => MatrixPrecision::Tf32,
                (FloatDType::F32, MatmulPrecision::Auto) if self.tf32 => MatrixPrecision::Tf32,
                (FloatDType::F32, _) => MatrixPrecision::F32,
                _ => bail!(DeviceError::UnsupportedType {
                    device: "v4".into(),
                    dtype: "f16".into(),
                }),
            },
        )
    }
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
    reporter.emit(Body::Phase(Phase {
        phase: PhaseName::Compile,
        progress: None,
        eta_s: None,
        message: "compiling kernels, timing the matrix library's algorithms".into(),
    }));
    let mut run = Run {
        options,
        device,
        reporter,
        trainer: device.trainer(options, weights)?,
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

struct Run<'a> {
    options: &'a Options,
    device: &'a UltraDevice,
    reporter: &'a Reporter,
    trainer: Trainer,
}

impl Run<'_> {
    fn announce(&self, n: usize) {
        let warmup = self.options.warmup;
        let (phase, message) = match n {
            1 if warmup > 0 => (
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
        let name = &self.device.facts.name;
        let result = self
            .trainer
            .step(&batch.tokens, &batch.targets, wait)
            .with_context(|| format!("training step {n} failed on {name}"))?;
        let loss = match result.loss {
            Some(loss) => Some(loss),
            None => self.trainer.last_losses(1)?.first().copied(),
        };
        let loss = loss.map_or(f64::NAN, f64::from);
        let on_device = self.device.driver.is_some();
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
            launches: on_device.then_some(result.launches.host),
            captured: on_device.then_some(result.launches.captured),
            bytes_in_use: memory.map(|memory| memory.now),
            bytes_reserved: memory.map(|memory| memory.peak),
            samples_per_s: self.options.config.batch_size as f64 / (result.total / 1e3),
        });
        Ok(loss)
    }

    fn after_training(mut self, batch: &Batch) -> Result<Ending> {
        if let Err(why) = self.trainer.captured()
            && self.options.ultra.capture
            && self.device.driver.is_some()
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

    /// Times every launch of a step.
    fn profile(&mut self, batch: &Batch) -> Result<Recording> {
        let times = self.trainer.kernels(&batch.tokens, &batch.targets)?;
        self.reporter.emit(Body::Kernels(table(&times)));
        let recording = recording(&times);
        if let Some(path) = &self.options.trace {
            trace::write_chrome_trace(path, &recording)?;
        }
        Ok(recording)
    }

    fn note(&self, message: String) {
        self.reporter.emit(Body::Note(Note { message }));
    }
}

/// Launches of one step, summed by name and part; parts of the backward pass keep their layer.
fn table(times: &[NodeTime]) -> Kernels {
    let mut kernels: Vec<Kernel> = Vec::new();
    for time in times {
        let part = match time.phase {
            SchedulePhase::Forward => time.part.to_string(),
            SchedulePhase::Backward => format!("{} backward", time.part),
            SchedulePhase::Optimizer => Part::Optimizer.to_string(),
        };
        let there = kernels
            .iter_mut()
            .find(|kernel| kernel.name == time.name && kernel.part == part);
        match there {
            Some(kernel) => {
                kernel.launches_per_step += 1.0;
                kernel.device_ms_per_step = kernel
                    .device_ms_per_step
                    .map(|total| total + time.milliseconds);
            }
            None => kernels.push(Kernel {
                name: time.name.to_string(),
                part,
                launches_per_step: 1.0,
                device_ms_per_step: Some(time.milliseconds),
                fused_operations: None,
            }),
        }
    }
    kernels.sort_by(|a, b| {
        let time = |kernel: &Kernel| kernel.device_ms_per_step.unwrap_or_default();
        time(b).total_cmp(&time(a))
    });
    let total = times.iter().map(|time| time.milliseconds).sum();
    Kernels {
        steps: 1,
        launches_per_step: times.len() as f64,
        device_ms_per_step: Some(total),
        span_ms_per_step: None,
        kernels,
    }
}

/// The launches one after the other, as they were timed.
fn recording(times: &[NodeTime]) -> Recording {
    let mut now = 0.0;
    let launches = times
        .iter()
        .map(|time| {
            let start = now;
            now += time.milliseconds / 1e3;
            KernelLaunch {
                kernel: time.name,
                part: match time.phase {
                    SchedulePhase::Forward => time.part,
                    SchedulePhase::Backward => Part::Backward,
                    SchedulePhase::Optimizer => Part::Optimizer,
                },
                fused_operations: None,
                device: Some((start, now)),
            }
        })
        .collect();
    Recording {
        steps: 1,
        launches,
        host: vec![],
    }
}
