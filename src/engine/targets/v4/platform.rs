//! The device that runs V4: a GPU through its driver, burn's client, or the host.

use anyhow::{Result, bail};

use super::engine::ScheduledEngine;
use super::ranks::{self, Ranks};
use super::{
    ClientExecutor, ClientOptions, Concurrency, DeviceExecutor, DeviceOptions, Executor,
    HostExecutor, Schedule, ScheduleTrainer, block,
};
use crate::device::driver::{AlgorithmSelection, Driver, GemmPrecision, GemmSpec};
use crate::device::{
    self, Backend, BackendChoice, CacheSettings, DeviceError, OpenDevice, Tuning, cpu_facts,
    open_driver_of, vulkan,
};
use crate::model::{LibraryKernels, Weights};
use crate::targets::autodiff;
use crate::train::event::Body;
use crate::train::telemetry::LaunchCounter;
use crate::train::{
    Batch, BlockForm, Engine, EngineDevice, Gemm, MatmulPrecision, MatrixProducts, Operands,
    RankOptions, TrainingOptions, float_dtype, library_on, tuning_ahead,
};
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_contract::ElementType;

/// Gradients of weights and updates of a block run next to the main chain. On an H200 this was the fastest, or within 2
/// % of it, in every size and precision that was timed.
pub const CONCURRENCY: Concurrency = Concurrency {
    lanes: 2,
    update_early: true,
    layers_together: 8,
};

/// Computes each layer's gradients as soon as possible, because sums over the ranks run during the backward pass.
const OVER_RANKS: Concurrency = Concurrency {
    layers_together: 1,
    ..CONCURRENCY
};

/// Algorithms of the matrix library that are timed for each product.
pub const CANDIDATES: usize = 8;

/// A device on which V4 runs.
#[derive(Clone)]
pub struct Platform {
    pub facts: DeviceFacts,
    kind: ExecutorKind,
}

/// The way in which the schedule is executed.
#[derive(Clone)]
pub enum ExecutorKind {
    Host,
    Driver {
        driver: Driver,
        /// True if its matrix library rounds f32 operands for the matrix units.
        tf32: bool,
    },
    Client(OpenDevice),
}

/// Opens a GPU's driver, which needs no burn backend in the build. Opens burn's client if its products are requested or
/// only Vulkan reaches the GPU. Otherwise opens the host.
///
/// # Errors
/// [`DeviceError`] if the choice leads to no device.
pub fn open(options: &TrainingOptions) -> Result<Platform> {
    let (choice, gemm) = (options.flags.on.backend, options.flags.switches.gemm);
    let wanted = options.flags.on.device.as_deref();
    if gemm == Gemm::Cubek {
        return open_client(choice, options);
    }
    if choice == BackendChoice::Vulkan && gemm == Gemm::Vendor {
        bail!(DeviceError::NoMatrixLibrary {
            backend: Backend::Vulkan
        });
    }
    if let Some(driver) = open_driver_of(choice, wanted)? {
        return Ok(of_driver(driver));
    }
    match choice {
        BackendChoice::Vulkan => open_client(choice, options),
        // Checked before burn is configured for a device that may be missing.
        BackendChoice::Auto if gemm == Gemm::Auto && vulkan::find(wanted).is_ok() => {
            Ok(open_client(BackendChoice::Vulkan, options).unwrap_or_else(|_| host(options)))
        }
        _ => {
            device::check_cpu(wanted)?;
            Ok(host(options))
        }
    }
}

fn host(options: &TrainingOptions) -> Platform {
    let mut facts = cpu_facts();
    if !options.kernels.is_empty() {
        // The figures of this device are not compared with others.
        facts.device += ", --kernel in the emulator of a GPU";
    }
    Platform {
        facts,
        kind: ExecutorKind::Host,
    }
}

fn open_client(choice: BackendChoice, options: &TrainingOptions) -> Result<Platform> {
    // This has no effect if the process has configured the runtime before.
    device::configure_runtime(CacheSettings {
        fusion: true,
        tuning: tuning_ahead(options),
    });
    let open = device::open(choice, options.flags.on.device.as_deref())?;
    Ok(Platform {
        facts: open.facts.clone(),
        kind: ExecutorKind::Client(open),
    })
}

fn of_driver(driver: Driver) -> Platform {
    // Any product shows it. Without a library there is no tf32; products report the missing library when they need it.
    let tf32 = driver
        .multiplies(&GemmSpec::new(64, 64, 64, GemmPrecision::Tf32))
        .unwrap_or(false);
    Platform {
        facts: DeviceFacts::from(driver.properties()),
        kind: ExecutorKind::Driver { driver, tf32 },
    }
}

impl Platform {
    /// Returns the driver of a GPU, for functions that only a GPU has.
    ///
    /// # Errors
    /// [`DeviceError`] if V4 runs on the host or through burn; `what` names the unavailable function.
    pub fn driver(&self, what: &str) -> Result<&Driver> {
        match &self.kind {
            ExecutorKind::Driver { driver, .. } => Ok(driver),
            ExecutorKind::Host => {
                let why = "and V4 runs on the host here; --backend cuda or rocm says why";
                bail!(DeviceError::NoDevice {
                    backend: Backend::Cuda,
                    detail: Some(format!("{what} needs an AMD or NVIDIA GPU, {why}")),
                })
            }
            ExecutorKind::Client(_) => bail!(DeviceError::NeedsDriver {
                what: what.to_string()
            }),
        }
    }

    /// Returns the driver, if there is one.
    pub(super) fn driver_if_any(&self) -> Option<&Driver> {
        match &self.kind {
            ExecutorKind::Driver { driver, .. } => Some(driver),
            ExecutorKind::Host | ExecutorKind::Client(_) => None,
        }
    }

    /// Creates one rank's executor, with its share of the batch and a communicator for the sums.
    fn rank_executor(
        &self,
        options: &TrainingOptions,
        rank: &RankOptions,
    ) -> Result<DeviceExecutor> {
        let driver = self.driver("--gpus")?;
        let sums = ranks::sums(rank, self.precision(options)?);
        let config = rank.share_of(&options.config);
        let schedule = Schedule::over_ranks(&config, OVER_RANKS, Some(sums));
        // Ranks meet before the schedule's memory is allocated, so that a waiting rank holds little.
        let communicator = ranks::meet(driver, rank)?;
        let executor = self.executor_of(options, schedule)?;
        Ok(executor.with_communicator(Some(communicator)))
    }

    /// Creates the executor of a GPU; its parameters are undefined until they are set.
    ///
    /// # Errors
    /// Errors of the device; an element type that it cannot compute with; a V4 that does not use a driver here.
    pub fn device_executor(
        &self,
        options: &TrainingOptions,
        concurrency: Concurrency,
    ) -> Result<DeviceExecutor> {
        self.executor_of(options, Schedule::new(&options.config, concurrency))
    }

    fn executor_of(&self, options: &TrainingOptions, schedule: Schedule) -> Result<DeviceExecutor> {
        let driver = self.driver("this")?.clone();
        let device_options = DeviceOptions {
            precision: self.precision(options)?,
            capture: options.flags.switches.ultra.is_on(),
            selection: match options.flags.on.deterministic {
                true => AlgorithmSelection::Heuristic,
                false => AlgorithmSelection::Measured {
                    candidates: CANDIDATES,
                },
            },
        };
        let executor =
            DeviceExecutor::new(driver, schedule, options.hyperparameters(), device_options)?;
        executor.with_kernels(&options.kernels)
    }

    fn host_executor(&self, options: &TrainingOptions) -> Result<HostExecutor> {
        if options.flags.switches.gemm == Gemm::Vendor {
            self.driver("--gemm vendor")?;
        }
        if options.operand_dtype() != ElementType::F32 {
            bail!(DeviceError::UnsupportedType {
                device: self.facts.device.clone(),
                dtype: "bf16 or f16 in v4's host form".into(),
            });
        }
        let schedule = Schedule::new(&options.config, Concurrency::NONE);
        let executor = HostExecutor::new(schedule, options.hyperparameters());
        Ok(executor.with_kernels(&options.kernels))
    }

    fn client_executor(
        &self,
        options: &TrainingOptions,
        open: &OpenDevice,
    ) -> Result<ClientExecutor> {
        self.precision(options)?;
        let graph = options.flags.switches.graph.is_on();
        open.require_dtype(float_dtype(options.operand_dtype()))?;
        let executor = ClientExecutor::new(
            open.device.clone(),
            Schedule::new(&options.config, Concurrency::NONE),
            options.hyperparameters(),
            ClientOptions {
                operands: float_dtype(options.operand_dtype()),
                library: client_library(options, open.backend),
                graph,
            },
        );
        match graph {
            true => executor.with_graph(open.backend),
            false => Ok(executor),
        }
    }

    /// Returns the state of an engine that is one of several ranks.
    fn ranks(&self, options: &TrainingOptions) -> Option<Ranks> {
        let rank = options.ranks.as_ref();
        let rank = rank.filter(|_| self.driver_if_any().is_some())?;
        Some(Ranks {
            options: rank.clone(),
            platform: self.clone(),
            whole: TrainingOptions {
                ranks: None,
                ..options.clone()
            },
        })
    }

    /// Creates a trainer on this device with `weights`.
    ///
    /// # Errors
    /// Errors of the device; an element type that it cannot compute with.
    pub fn trainer(&self, options: &TrainingOptions, weights: &Weights) -> Result<ScheduleTrainer> {
        let executor: Box<dyn Executor> = match (&self.kind, &options.ranks) {
            (_, Some(rank)) => Box::new(self.rank_executor(options, rank)?),
            (ExecutorKind::Driver { .. }, None) => {
                Box::new(self.device_executor(options, CONCURRENCY)?)
            }
            (ExecutorKind::Client(open), None) => Box::new(self.client_executor(options, open)?),
            (ExecutorKind::Host, None) => Box::new(self.host_executor(options)?),
        };
        ScheduleTrainer::new(executor, weights)
    }

    /// Returns the precision of products here under `options`.
    ///
    /// # Errors
    /// f16, which V4 does not support.
    pub fn precision(&self, options: &TrainingOptions) -> Result<GemmPrecision> {
        let tf32 = matches!(self.kind, ExecutorKind::Driver { tf32: true, .. });
        Ok(
            match (
                options.operand_dtype(),
                options.flags.switches.matmul_precision,
            ) {
                (ElementType::Bf16, _) => GemmPrecision::Bf16,
                (ElementType::F32, _) if keeps_all_bits(options) => GemmPrecision::F32,
                (ElementType::F32, MatmulPrecision::Tf32) => GemmPrecision::Tf32,
                (ElementType::F32, _) if tf32 => GemmPrecision::Tf32,
                (ElementType::F32, _) => GemmPrecision::F32,
                _ => bail!(DeviceError::UnsupportedType {
                    device: "v4".into(),
                    dtype: "f16".into(),
                }),
            },
        )
    }
}

impl EngineDevice for Platform {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn backend(&self) -> Backend {
        match &self.kind {
            ExecutorKind::Host => Backend::Cpu,
            ExecutorKind::Client(open) => open.backend,
            ExecutorKind::Driver { driver, .. } => driver.properties().vendor.into(),
        }
    }

    fn matrix_products(&self, options: &TrainingOptions) -> MatrixProducts {
        match &self.kind {
            ExecutorKind::Host => MatrixProducts::new(Operands::F32, None),
            ExecutorKind::Client(open) => match client_library(options, open.backend) {
                LibraryKernels::Plain => {
                    MatrixProducts::new(Operands::F32, Some("burn's plainest product"))
                }
                library => {
                    let operands =
                        autodiff::operands(float_dtype(options.operand_dtype()), open, library);
                    let by = match library {
                        LibraryKernels::Direct => "this project's kernel or burn's own library",
                        _ => "burn's own library",
                    };
                    MatrixProducts::new(operands, Some(by))
                }
            },
            ExecutorKind::Driver { driver, .. } => {
                let operands = match self.precision(options) {
                    Ok(GemmPrecision::F32) => Operands::F32,
                    Ok(GemmPrecision::Tf32) => Operands::Tf32,
                    Ok(GemmPrecision::Bf16) => Operands::Bf16,
                    Err(_) => Operands::F16,
                };
                MatrixProducts::new(operands, driver.gemm_library().ok().as_deref())
            }
        }
    }

    fn preparation(&self) -> Option<&'static str> {
        match self.kind {
            ExecutorKind::Client(_) => None,
            _ => Some("compiling kernels, timing the matrix library's algorithms"),
        }
    }

    fn engine(&self, options: &TrainingOptions, weights: &Weights) -> Result<Box<dyn Engine>> {
        if !options.kernels.is_empty() && matches!(self.kind, ExecutorKind::Client(_)) {
            self.driver("--kernel")?;
        }
        if options.flags.switches.block.is_some() {
            // This fails now instead of after the training.
            self.driver("--block single")?;
        }
        Ok(Box::new(ScheduledEngine {
            trainer: self.trainer(options, weights)?,
            kind: self.kind.clone(),
            counter: match &self.kind {
                ExecutorKind::Client(open) if open.backend.is_asynchronous() => {
                    Some(LaunchCounter::start())
                }
                ExecutorKind::Host => Some(LaunchCounter::start_on_cpu()),
                _ => None,
            },
            capture: options.flags.switches.ultra.is_on(),
            ranks: self.ranks(options),
        }))
    }

    fn experiment(
        &self,
        options: &TrainingOptions,
        weights: &Weights,
        batch: &Batch,
    ) -> Result<Option<Body>> {
        let compared = match options.flags.switches.block {
            Some(BlockForm::Single) => Some(block::compare(self, options, weights, batch)?),
            None => None,
        };
        Ok(compared.map(Body::Block))
    }
}

/// Returns whether f32 operands of products must not be rounded.
fn keeps_all_bits(options: &TrainingOptions) -> bool {
    let switches = &options.flags.switches;
    switches.matmul_precision == MatmulPrecision::F32 || switches.tuning == Some(Tuning::Off)
}

/// Chooses burn's products. Only the plainest ones keep all bits; the others may round for the matrix units.
fn client_library(options: &TrainingOptions, backend: Backend) -> LibraryKernels {
    match options.operand_dtype() {
        ElementType::F32 if keeps_all_bits(options) => LibraryKernels::Plain,
        _ => library_on(options, backend),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::tests::options_of;
    use crate::targets::v4;

    #[test]
    fn burns_products_mean_burns_client_and_vulkan_has_no_vendors() {
        let open = |backend, gemm| {
            let mut options = options_of(v4::TARGET);
            options.flags.on.backend = backend;
            options.flags.switches.gemm = gemm;
            open(&options)
        };
        for gemm in [Gemm::Auto, Gemm::Vendor] {
            let cpu = open(BackendChoice::Cpu, gemm).unwrap();
            assert!(matches!(cpu.kind, ExecutorKind::Host));
        }
        let through_burn = open(BackendChoice::Cpu, Gemm::Cubek).unwrap();
        assert!(matches!(through_burn.kind, ExecutorKind::Client(_)));
        let error = through_burn.driver("replaying a graph").err().unwrap();
        let what = "replaying a graph".into();
        let error = error.downcast::<DeviceError>().ok();
        assert_eq!(error, Some(DeviceError::NeedsDriver { what }));
        let refused = open(BackendChoice::Vulkan, Gemm::Vendor).err();
        let refused = refused.and_then(|error| error.downcast::<DeviceError>().ok());
        let backend = Backend::Vulkan;
        assert_eq!(refused, Some(DeviceError::NoMatrixLibrary { backend }));
    }
}
