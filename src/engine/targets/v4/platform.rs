//! Where V4 runs: a GPU's driver, burn's client, or the host.

use anyhow::{Result, bail};

use super::engine::{ScheduledEngine, Way};
use super::ranks::{self, Ranks};
use super::{
    ClientExecutor, ClientOptions, Concurrency, DeviceExecutor, DeviceOptions, Executor,
    HostExecutor, Schedule, Trainer, block,
};
use crate::device::driver::{Driver, GemmSpec, Precision, Selection};
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
    Options, RankOptions, float_dtype, library_on, tuning_ahead,
};
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_contract::ElementType;

/// Gradients and updates of a block beside the main chain: the fastest or within 2 % of it in every size and precision
/// that was timed on an H200.
pub const CONCURRENCY: Concurrency = Concurrency {
    lanes: 2,
    update_early: true,
    layers_together: 8,
};

/// Each layer's gradients as soon as they are there, since sums over the ranks go on beside the backward pass.
const OVER_RANKS: Concurrency = Concurrency {
    layers_together: 1,
    ..CONCURRENCY
};

/// Algorithms of the matrix library that are timed for each product.
pub const CANDIDATES: usize = 8;

/// Where V4 runs.
#[derive(Clone)]
pub struct Platform {
    pub facts: DeviceFacts,
    kind: Kind,
}

/// What carries the schedule out.
#[derive(Clone)]
enum Kind {
    Host,
    Driver {
        driver: Driver,
        /// Whether its matrix library rounds f32 operands for the matrix units.
        tf32: bool,
    },
    Client(OpenDevice),
}

/// Opens a GPU's driver, which needs no backend of burn in the build; burn's client where its products are asked for or
/// the only GPU is one of Vulkan's; or the host.
///
/// # Errors
/// [`DeviceError`] where the choice leads nowhere.
pub fn open(options: &Options) -> Result<Platform> {
    let (choice, gemm) = (options.backend, options.gemm);
    let wanted = options.device.as_deref();
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
        // Asked before burn is set up for a device that may not be there.
        BackendChoice::Auto if gemm == Gemm::Auto && vulkan::find(wanted).is_ok() => {
            Ok(open_client(BackendChoice::Vulkan, options).unwrap_or_else(|_| host(options)))
        }
        _ => {
            device::check_cpu(wanted)?;
            Ok(host(options))
        }
    }
}

fn host(options: &Options) -> Platform {
    let mut facts = cpu_facts();
    if !options.kernels.is_empty() {
        // Its figures are held against no others.
        facts.device += ", --kernel on the stand-in for a GPU";
    }
    Platform {
        facts,
        kind: Kind::Host,
    }
}

fn open_client(choice: BackendChoice, options: &Options) -> Result<Platform> {
    // Without effect where this process has settled it before.
    device::configure_runtime(CacheSettings {
        fusion: true,
        tuning: tuning_ahead(options),
    });
    let open = device::open(choice, options.device.as_deref())?;
    Ok(Platform {
        facts: open.facts.clone(),
        kind: Kind::Client(open),
    })
}

fn of_driver(driver: Driver) -> Platform {
    // Any product tells; without a library there is none, which is said where one is needed.
    let tf32 = driver
        .multiplies(&GemmSpec::new(64, 64, 64, Precision::Tf32))
        .unwrap_or(false);
    Platform {
        facts: DeviceFacts::from(driver.properties()),
        kind: Kind::Driver { driver, tf32 },
    }
}

impl Platform {
    /// The driver of a GPU, for what only a GPU has.
    ///
    /// # Errors
    /// [`DeviceError`] where V4 runs on the host or through burn; `what` says what cannot be done there.
    pub fn driver(&self, what: &str) -> Result<&Driver> {
        match &self.kind {
            Kind::Driver { driver, .. } => Ok(driver),
            Kind::Host => {
                let why = "and V4 runs on the host here; --backend cuda or rocm says why";
                bail!(DeviceError::NoDevice {
                    backend: Backend::Cuda,
                    detail: Some(format!("{what} needs a GPU of AMD or NVIDIA, {why}")),
                })
            }
            Kind::Client(_) => bail!(DeviceError::NeedsDriver {
                what: what.to_string()
            }),
        }
    }

    /// The driver, if there is one.
    pub(super) fn driver_if_any(&self) -> Option<&Driver> {
        match &self.kind {
            Kind::Driver { driver, .. } => Some(driver),
            Kind::Host | Kind::Client(_) => None,
        }
    }

    /// One rank's executor: with its share of the batch, and the others to sum with.
    fn rank_executor(&self, options: &Options, rank: &RankOptions) -> Result<DeviceExecutor> {
        let driver = self.driver("--gpus")?;
        let sums = ranks::sums(rank, self.precision(options)?);
        let config = rank.share_of(&options.config);
        let schedule = Schedule::over_ranks(&config, OVER_RANKS, Some(sums));
        // Before the schedule's memory: whoever waits for the others waits with little.
        let communicator = ranks::meet(driver, rank)?;
        let executor = self.executor_of(options, schedule)?;
        Ok(executor.with_communicator(Some(communicator)))
    }

    /// The executor of a GPU; its parameters are undefined until set.
    ///
    /// # Errors
    /// What the device reports; element types it has no code for; that V4 does not go through a driver here.
    pub fn device_executor(
        &self,
        options: &Options,
        concurrency: Concurrency,
    ) -> Result<DeviceExecutor> {
        self.executor_of(options, Schedule::new(&options.config, concurrency))
    }

    fn executor_of(&self, options: &Options, schedule: Schedule) -> Result<DeviceExecutor> {
        let driver = self.driver("this")?.clone();
        let device_options = DeviceOptions {
            precision: self.precision(options)?,
            capture: options.capture,
            selection: match options.deterministic {
                true => Selection::Heuristic,
                false => Selection::Measured {
                    candidates: CANDIDATES,
                },
            },
        };
        let executor =
            DeviceExecutor::new(driver, schedule, options.hyperparameters(), device_options)?;
        executor.with_kernels(&options.kernels)
    }

    fn host_executor(&self, options: &Options) -> Result<HostExecutor> {
        if options.gemm == Gemm::Vendor {
            self.driver("--gemm vendor")?;
        }
        if options.operand_dtype != ElementType::F32 {
            bail!(DeviceError::UnsupportedType {
                device: self.facts.device.clone(),
                dtype: "bf16 or f16 in v4's host form".into(),
            });
        }
        let schedule = Schedule::new(&options.config, Concurrency::NONE);
        let executor = HostExecutor::new(schedule, options.hyperparameters());
        Ok(executor.with_kernels(&options.kernels))
    }

    fn client_executor(&self, options: &Options, open: &OpenDevice) -> Result<ClientExecutor> {
        self.precision(options)?;
        open.require_dtype(float_dtype(options.operand_dtype))?;
        Ok(ClientExecutor::new(
            open.device.clone(),
            Schedule::new(&options.config, Concurrency::NONE),
            options.hyperparameters(),
            ClientOptions {
                operands: float_dtype(options.operand_dtype),
                library: client_library(options, open.backend),
            },
        ))
    }

    /// What an engine keeps where it is one of several.
    fn ranks(&self, options: &Options) -> Option<Ranks> {
        let rank = options.ranks.as_ref();
        let rank = rank.filter(|_| self.driver_if_any().is_some())?;
        Some(Ranks {
            options: rank.clone(),
            platform: self.clone(),
            whole: Options {
                ranks: None,
                ..options.clone()
            },
        })
    }

    /// A trainer on this device with `weights`.
    ///
    /// # Errors
    /// What the device reports; element types it has no code for.
    pub fn trainer(&self, options: &Options, weights: &Weights) -> Result<Trainer> {
        let (executor, concurrency): (Box<dyn Executor>, _) = match (&self.kind, &options.ranks) {
            (_, Some(rank)) => (Box::new(self.rank_executor(options, rank)?), OVER_RANKS),
            (Kind::Driver { .. }, None) => {
                let executor = self.device_executor(options, CONCURRENCY)?;
                (Box::new(executor), CONCURRENCY)
            }
            (Kind::Client(open), None) => {
                let executor = self.client_executor(options, open)?;
                (Box::new(executor), Concurrency::NONE)
            }
            (Kind::Host, None) => (Box::new(self.host_executor(options)?), Concurrency::NONE),
        };
        Trainer::new(executor, weights, concurrency)
    }

    /// What products are computed from here under `options`.
    ///
    /// # Errors
    /// f16, which V4 has no code for.
    pub fn precision(&self, options: &Options) -> Result<Precision> {
        let tf32 = matches!(self.kind, Kind::Driver { tf32: true, .. });
        Ok(match (options.operand_dtype, options.matmul_precision) {
            (ElementType::Bf16, _) => Precision::Bf16,
            (ElementType::F32, _) if keeps_all_bits(options) => Precision::F32,
            (ElementType::F32, MatmulPrecision::Tf32) => Precision::Tf32,
            (ElementType::F32, _) if tf32 => Precision::Tf32,
            (ElementType::F32, _) => Precision::F32,
            _ => bail!(DeviceError::UnsupportedType {
                device: "v4".into(),
                dtype: "f16".into(),
            }),
        })
    }
}

impl EngineDevice for Platform {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn backend(&self) -> Backend {
        match &self.kind {
            Kind::Host => Backend::Cpu,
            Kind::Client(open) => open.backend,
            Kind::Driver { driver, .. } => driver.properties().vendor.into(),
        }
    }

    fn matrix_products(&self, options: &Options) -> MatrixProducts {
        match &self.kind {
            Kind::Host => MatrixProducts::new(Operands::F32, None),
            Kind::Client(open) => match client_library(options, open.backend) {
                LibraryKernels::Plain => {
                    MatrixProducts::new(Operands::F32, Some("burn's plainest product"))
                }
                library => {
                    let operands =
                        autodiff::operands(float_dtype(options.operand_dtype), open, library);
                    MatrixProducts::new(operands, Some("burn's own library"))
                }
            },
            Kind::Driver { driver, .. } => {
                let operands = match self.precision(options) {
                    Ok(Precision::F32) => Operands::F32,
                    Ok(Precision::Tf32) => Operands::Tf32,
                    Ok(Precision::Bf16) => Operands::Bf16,
                    Err(_) => Operands::F16,
                };
                MatrixProducts::new(operands, driver.gemm_library().ok().as_deref())
            }
        }
    }

    fn preparation(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Client(_) => None,
            _ => Some("compiling kernels, timing the matrix library's algorithms"),
        }
    }

    fn engine(&self, options: &Options, weights: &Weights) -> Result<Box<dyn Engine>> {
        if !options.kernels.is_empty() && matches!(self.kind, Kind::Client(_)) {
            self.driver("--kernel")?;
        }
        if options.block.is_some() {
            // Found out now, not after the training.
            self.driver("--block single")?;
        }
        Ok(Box::new(ScheduledEngine {
            trainer: self.trainer(options, weights)?,
            way: match &self.kind {
                Kind::Host => Way::Host,
                Kind::Driver { driver, .. } => Way::Driver(driver.clone()),
                Kind::Client(open) if open.backend.is_asynchronous() => {
                    Way::Burn(open.device.clone(), LaunchCounter::start())
                }
                Kind::Client(_) => Way::BurnOnHost,
            },
            capture: options.capture,
            ranks: self.ranks(options),
        }))
    }

    fn experiment(
        &self,
        options: &Options,
        weights: &Weights,
        batch: &Batch,
    ) -> Result<Option<Body>> {
        let compared = match options.block {
            Some(BlockForm::Single) => Some(block::compare(self, options, weights, batch)?),
            None => None,
        };
        Ok(compared.map(Body::Block))
    }
}

/// Whether f32 operands of products may not be rounded.
fn keeps_all_bits(options: &Options) -> bool {
    options.matmul_precision == MatmulPrecision::F32 || options.tuning == Some(Tuning::Off)
}

/// All bits are only kept by burn's plainest product: the others may round for the matrix units.
fn client_library(options: &Options, backend: Backend) -> LibraryKernels {
    match options.operand_dtype {
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
            open(&Options {
                backend,
                gemm,
                ..options_of(v4::TARGET)
            })
        };
        for gemm in [Gemm::Auto, Gemm::Vendor] {
            let cpu = open(BackendChoice::Cpu, gemm).unwrap();
            assert!(matches!(cpu.kind, Kind::Host));
        }
        let through_burn = open(BackendChoice::Cpu, Gemm::Cubek).unwrap();
        assert!(matches!(through_burn.kind, Kind::Client(_)));
        let error = through_burn.driver("replaying a graph").err().unwrap();
        assert!(error.to_string().starts_with("replaying a graph goes"));
        let refused = open(BackendChoice::Vulkan, Gemm::Vendor).err();
        let refused = refused.and_then(|error| error.downcast::<DeviceError>().ok());
        let backend = Backend::Vulkan;
        assert_eq!(refused, Some(DeviceError::NoMatrixLibrary { backend }));
    }
}
