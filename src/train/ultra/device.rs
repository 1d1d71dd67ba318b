//! Where V4 runs: a GPU's driver, or the host.

use anyhow::{Result, bail};
use burn::tensor::FloatDType;

use super::{Gemm, MatmulPrecision};
use crate::device::driver::{self, Driver, GemmSpec, Precision, Selection, Vendor};
use crate::device::{Backend, BackendChoice, DeviceError, DeviceFacts, cpu_facts, library};
use crate::model::Weights;
use crate::model::ultra::{
    DeviceExecutor, DeviceOptions, HostExecutor, Hyperparameters, MatrixPrecision, Schedule,
    Spread, Trainer, Tuning,
};
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
    pub(super) driver: Option<Driver>,
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

    /// The driver of a GPU, for what only a GPU has.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] where V4 runs on the host; `what` says what cannot be done there.
    pub fn driver(&self, what: &str) -> Result<&Driver> {
        self.driver.as_ref().ok_or_else(|| {
            let why = "and V4 runs on the host here; --backend cuda or rocm says why";
            anyhow::Error::new(DeviceError::NoDevice {
                backend: Backend::Cuda,
                detail: Some(format!("{what} needs a GPU of AMD or NVIDIA, {why}")),
            })
        })
    }

    /// The executor of a GPU; its parameters are undefined until set.
    ///
    /// # Errors
    /// What the device reports; element types it has no code for; that V4 runs on the host here.
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

    /// A trainer on this device with `weights`.
    ///
    /// # Errors
    /// What the device reports; element types it has no code for.
    pub fn trainer(&self, options: &Options, weights: &Weights) -> Result<Trainer> {
        if self.driver.is_some() {
            let executor = self.device_executor(options, SPREAD)?;
            Trainer::new(Box::new(executor), weights, SPREAD)
        } else {
            let executor = self.host_executor(options)?;
            Trainer::new(Box::new(executor), weights, Spread::SERIAL)
        }
    }

    /// What products are computed from here under `options`.
    ///
    /// # Errors
    /// f16, which V4 has no code for.
    pub fn precision(&self, options: &Options) -> Result<MatrixPrecision> {
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

fn hyperparameters(options: &Options) -> Hyperparameters {
    Hyperparameters::new(options.learning_rate, f64::from(options.weight_decay))
}
