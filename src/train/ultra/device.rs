//! Where V4 runs: a GPU's driver, burn's client, or the host.

use anyhow::{Result, bail};
use burn::tensor::FloatDType;

use super::{Gemm, MatmulPrecision};
use crate::device::driver::{self, Driver, GemmSpec, Precision, Selection, Vendor};
use crate::device::{
    self, Backend, BackendChoice, CacheSettings, DeviceError, DeviceFacts, OpenDevice, cpu_facts,
    library, vulkan,
};
use crate::model::ultra::{
    ClientExecutor, ClientOptions, DeviceExecutor, DeviceOptions, HostExecutor, Hyperparameters,
    MatrixPrecision, Schedule, Spread, Trainer, Tuning,
};
use crate::model::{LibraryKernels, Weights};
use crate::train::Options;

/// Gradients and updates of a block beside the main chain: the fastest or within 2 % of it in every size and precision
/// that was timed on an H200.
pub const SPREAD: Spread = Spread {
    lanes: 2,
    update_early: true,
    layers_together: 1,
};

/// Algorithms of the matrix library that are timed for each product.
pub const CANDIDATES: usize = 8;

/// Where V4 runs.
pub struct UltraDevice {
    pub facts: DeviceFacts,
    way: Way,
}

/// What carries the schedule out.
enum Way {
    Host,
    Driver {
        driver: Driver,
        /// Whether its matrix library rounds f32 operands for the matrix units.
        tf32: bool,
    },
    Client(OpenDevice),
}

/// Opens a GPU's driver, which needs no backend of burn in the build; burn's client where `gemm` asks for its products or
/// the only GPU is one of Vulkan's; or the host.
///
/// # Errors
/// [`DeviceError`] where the choice leads nowhere.
pub fn open(choice: BackendChoice, wanted: Option<&str>, gemm: Gemm) -> Result<UltraDevice> {
    if gemm == Gemm::Cubek {
        return open_client(choice, wanted);
    }
    match choice {
        BackendChoice::Cpu => Ok(host()),
        BackendChoice::Rocm => open_driver(Backend::Rocm, wanted),
        BackendChoice::Cuda => open_driver(Backend::Cuda, wanted),
        BackendChoice::Vulkan if gemm == Gemm::Vendor => {
            bail!(DeviceError::NoMatrixLibrary {
                backend: Backend::Vulkan
            })
        }
        BackendChoice::Vulkan => open_client(choice, wanted),
        BackendChoice::Auto => {
            let driver = [Backend::Rocm, Backend::Cuda]
                .into_iter()
                .find_map(|backend| open_driver(backend, wanted).ok());
            if let Some(device) = driver {
                return Ok(device);
            }
            let vulkan = gemm == Gemm::Auto && has_vulkan_gpu(wanted);
            let client = vulkan.then(|| open_client(BackendChoice::Vulkan, wanted).ok());
            Ok(client.flatten().unwrap_or_else(host))
        }
    }
}

/// Asked before burn is set up for a device that may not be there.
fn has_vulkan_gpu(wanted: Option<&str>) -> bool {
    Backend::Vulkan.compiled_in()
        && library::check(Backend::Vulkan).is_ok()
        && vulkan::pick(&vulkan::adapters(), wanted).is_ok()
}

fn host() -> UltraDevice {
    UltraDevice {
        facts: cpu_facts(),
        way: Way::Host,
    }
}

fn open_client(choice: BackendChoice, wanted: Option<&str>) -> Result<UltraDevice> {
    // Without effect where this process has settled it before.
    device::configure_runtime(CacheSettings {
        fusion: true,
        tuning: device::Tuning::Full,
    });
    let open = device::open(choice, wanted)?;
    Ok(UltraDevice {
        facts: DeviceFacts::from(&open),
        way: Way::Client(open),
    })
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
        facts: DeviceFacts {
            backend,
            name: properties.name.clone(),
            arch: Some(properties.arch.clone()),
            // In the words of the other targets, so that results of both are known to belong together.
            driver: library::driver_version(backend).or_else(|| Some(properties.driver.clone())),
            memory: Some(properties.memory),
        },
        way: Way::Driver { driver, tf32 },
    })
}

impl UltraDevice {
    /// How products are carried out, for the first line of a run.
    pub fn matmul_precision(&self, options: &Options) -> String {
        match (&self.way, self.precision(options)) {
            (Way::Host, _) => "f32".into(),
            (Way::Client(open), _) => match client_options(options).library {
                LibraryKernels::Plain => "f32, by burn's plainest product".into(),
                LibraryKernels::Tuned => {
                    let precision = crate::train::matmul_precision(options.operand_dtype, open);
                    format!("{precision}, by burn's own library")
                }
            },
            (Way::Driver { driver, .. }, Ok(precision)) => match driver.gemm_library() {
                Ok(library) => format!("{precision} operands, by {library}"),
                Err(_) => precision.to_string(),
            },
            (Way::Driver { .. }, Err(_)) => "unknown".into(),
        }
    }

    /// The driver of a GPU, for what only a GPU has.
    ///
    /// # Errors
    /// [`DeviceError`] where V4 runs on the host or through burn; `what` says what cannot be done there.
    pub fn driver(&self, what: &str) -> Result<&Driver> {
        match &self.way {
            Way::Driver { driver, .. } => Ok(driver),
            Way::Host => {
                let why = "and V4 runs on the host here; --backend cuda or rocm says why";
                bail!(DeviceError::NoDevice {
                    backend: Backend::Cuda,
                    detail: Some(format!("{what} needs a GPU of AMD or NVIDIA, {why}")),
                })
            }
            Way::Client(_) => bail!(DeviceError::NeedsDriver {
                what: what.to_string()
            }),
        }
    }

    /// The driver, if that is the way.
    pub(super) fn driver_if_any(&self) -> Option<&Driver> {
        match &self.way {
            Way::Driver { driver, .. } => Some(driver),
            Way::Host | Way::Client(_) => None,
        }
    }

    pub(super) fn is_host(&self) -> bool {
        matches!(self.way, Way::Host)
    }

    /// Burn's device, if that is the way.
    pub(super) fn client(&self) -> Option<&OpenDevice> {
        match &self.way {
            Way::Client(open) => Some(open),
            Way::Host | Way::Driver { .. } => None,
        }
    }

    /// The executor of a GPU; its parameters are undefined until set.
    ///
    /// # Errors
    /// What the device reports; element types it has no code for; that V4 does not go through a driver here.
    pub fn device_executor(&self, options: &Options, spread: Spread) -> Result<DeviceExecutor> {
        let driver = self.driver("this")?;
        let device_options = DeviceOptions {
            precision: self.precision(options)?,
            capture: options.ultra.capture,
            selection: match options.deterministic {
                true => Selection::Heuristic,
                false => Selection::Measured {
                    candidates: CANDIDATES,
                },
            },
            tuning: Tuning::default(),
        };
        let schedule = Schedule::new(&options.config, spread);
        let hyperparameters = hyperparameters(options);
        DeviceExecutor::new(driver.clone(), schedule, hyperparameters, device_options)
    }

    fn host_executor(&self, options: &Options) -> Result<HostExecutor> {
        if options.ultra.gemm == Gemm::Vendor {
            self.driver("--gemm vendor")?;
        }
        if options.operand_dtype != FloatDType::F32 {
            bail!(DeviceError::UnsupportedType {
                device: self.facts.name.clone(),
                dtype: "bf16 or f16 in v4's host form".into(),
            });
        }
        let schedule = Schedule::new(&options.config, Spread::SERIAL);
        Ok(HostExecutor::new(schedule, hyperparameters(options)))
    }

    fn client_executor(&self, options: &Options, open: &OpenDevice) -> Result<ClientExecutor> {
        self.precision(options)?;
        open.require_dtype(options.operand_dtype)?;
        Ok(ClientExecutor::new(
            open.device.clone(),
            Schedule::new(&options.config, Spread::SERIAL),
            hyperparameters(options),
            client_options(options),
        ))
    }

    /// A trainer on this device with `weights`.
    ///
    /// # Errors
    /// What the device reports; element types it has no code for.
    pub fn trainer(&self, options: &Options, weights: &Weights) -> Result<Trainer> {
        match &self.way {
            Way::Driver { .. } => {
                let executor = self.device_executor(options, SPREAD)?;
                Trainer::new(Box::new(executor), weights, SPREAD)
            }
            Way::Client(open) => {
                let executor = self.client_executor(options, open)?;
                Trainer::new(Box::new(executor), weights, Spread::SERIAL)
            }
            Way::Host => {
                let executor = self.host_executor(options)?;
                Trainer::new(Box::new(executor), weights, Spread::SERIAL)
            }
        }
    }

    /// What products are computed from here under `options`.
    ///
    /// # Errors
    /// f16, which V4 has no code for.
    pub fn precision(&self, options: &Options) -> Result<MatrixPrecision> {
        let tf32 = matches!(self.way, Way::Driver { tf32: true, .. });
        Ok(
            match (options.operand_dtype, options.ultra.matmul_precision) {
                (FloatDType::BF16, _) => MatrixPrecision::Bf16,
                (FloatDType::F32, MatmulPrecision::Tf32) => MatrixPrecision::Tf32,
                (FloatDType::F32, MatmulPrecision::Auto) if tf32 => MatrixPrecision::Tf32,
                (FloatDType::F32, _) => MatrixPrecision::F32,
                _ => bail!(DeviceError::UnsupportedType {
                    device: "v4".into(),
                    dtype: "f16".into(),
                }),
            },
        )
    }
}

/// All bits are only kept by burn's plainest product: what it tunes may round for the matrix units.
fn client_options(options: &Options) -> ClientOptions {
    ClientOptions {
        operands: options.operand_dtype,
        library: match (options.operand_dtype, options.ultra.matmul_precision) {
            (FloatDType::F32, MatmulPrecision::F32) => LibraryKernels::Plain,
            _ => LibraryKernels::Tuned,
        },
    }
}

fn hyperparameters(options: &Options) -> Hyperparameters {
    Hyperparameters::new(options.learning_rate, f64::from(options.weight_decay))
}
