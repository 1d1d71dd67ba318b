//! Chooses a backend and opens its device.

use burn::tensor::{Device, FloatDType};

use super::driver::{self, Driver, DriverError, Properties, Vendor};
use super::{DeviceError, cpu, library, unserved, vulkan};
use crate::gpu;
use tinyllama_base::{DeviceFacts, kfd};
use tinyllama_contract::{Backend, BackendChoice};

/// A device that is ready for training, and its facts.
#[derive(Clone, Debug)]
pub struct OpenDevice {
    pub device: Device,
    pub backend: Backend,
    pub facts: DeviceFacts,
}

/// Returns the facts of the CPU, for engines that compute on it without burn.
pub fn cpu_facts() -> DeviceFacts {
    cpu::open().facts
}

impl From<Vendor> for Backend {
    fn from(vendor: Vendor) -> Self {
        match vendor {
            Vendor::Amd => Backend::Rocm,
            Vendor::Nvidia => Backend::Cuda,
        }
    }
}

impl From<&Properties> for DeviceFacts {
    fn from(properties: &Properties) -> Self {
        DeviceFacts {
            backend: Backend::from(properties.vendor).to_string(),
            device: properties.name.clone(),
            arch: Some(properties.arch.clone()),
            driver: Some(properties.driver.clone()),
            memory: Some(properties.memory),
        }
    }
}

impl OpenDevice {
    /// Refuses a type that the device stores but cannot compute with.
    ///
    /// # Errors
    /// [`DeviceError::UnsupportedType`].
    pub fn require_dtype(&self, dtype: FloatDType) -> Result<(), DeviceError> {
        if self.device.supports_dtype(dtype) {
            return Ok(());
        }
        Err(DeviceError::UnsupportedType {
            device: self.facts.device.clone(),
            dtype: format!("{dtype:?}").to_lowercase(),
        })
    }
}

/// Returns whether this build contains `backend`.
pub fn is_compiled_in(backend: Backend) -> bool {
    match backend {
        Backend::Rocm => cfg!(feature = "rocm"),
        Backend::Cuda => cfg!(feature = "cuda"),
        Backend::Vulkan => cfg!(feature = "vulkan"),
        Backend::Cpu => true,
    }
}

/// Refuses `what`, a flag or a command, in a build without CubeCL's code generators.
///
/// # Errors
/// [`DeviceError::NoCodeGenerator`].
pub fn require_code_generator(what: &'static str) -> Result<(), DeviceError> {
    match cfg!(feature = "gpu") {
        true => Ok(()),
        false => Err(DeviceError::NoCodeGenerator { what }),
    }
}

/// Returns the vendor whose driver interface reaches the device.
pub fn vendor_of(backend: Backend) -> Option<Vendor> {
    match backend {
        Backend::Rocm => Some(Vendor::Amd),
        Backend::Cuda => Some(Vendor::Nvidia),
        Backend::Vulkan | Backend::Cpu => None,
    }
}

/// Opens the device that `choice` selects.
///
/// `wanted` is an index, or for Vulkan part of an adapter's name. Without it the first real GPU is taken. `Auto` skips
/// missing backends and ends at the CPU. A backend named explicitly must work.
///
/// # Errors
/// Fails if a named backend is not in the build, its library is missing, or it has no such device.
pub fn open(choice: BackendChoice, wanted: Option<&str>) -> Result<OpenDevice, DeviceError> {
    match choice.backend() {
        Some(backend) => open_backend(backend, wanted),
        None => [Backend::Rocm, Backend::Cuda, Backend::Vulkan]
            .into_iter()
            .find_map(|backend| open_backend(backend, wanted).ok())
            .map_or_else(|| open_backend(Backend::Cpu, wanted), Ok),
    }
}

pub(super) fn open_backend(
    backend: Backend,
    wanted: Option<&str>,
) -> Result<OpenDevice, DeviceError> {
    if !is_compiled_in(backend) {
        return Err(DeviceError::NotCompiledIn { backend });
    }
    library::check(backend)?;
    match backend {
        Backend::Cpu => {
            check_cpu(wanted)?;
            Ok(cpu::open())
        }
        Backend::Vulkan => open_vulkan(wanted),
        Backend::Rocm | Backend::Cuda => open_indexed(backend, wanted),
    }
}

/// Accepts only device 0, because the CPU is one device.
pub fn check_cpu(wanted: Option<&str>) -> Result<(), DeviceError> {
    match wanted {
        None | Some("0") => Ok(()),
        Some(other) => Err(DeviceError::no_such_device(Backend::Cpu, other, 1)),
    }
}

/// Opens a GPU's driver, which needs no burn backend in the build. `wanted` is an index.
///
/// # Errors
/// Names the missing part. Vulkan and the CPU have no driver layer.
pub fn open_driver(backend: Backend, wanted: Option<&str>) -> Result<Driver, DeviceError> {
    let Some(vendor) = vendor_of(backend) else {
        return Err(DeviceError::NoMatrixLibrary { backend });
    };
    // No device has the largest index, so the driver's error lists the existing ones.
    let index = wanted.map_or(0, |text| text.parse().unwrap_or(usize::MAX));
    driver::open(vendor, index).map_err(|error| match error {
        DriverError::NoSuchDevice { count, .. } => {
            DeviceError::no_such_device(backend, wanted.unwrap_or("0"), count)
        }
        error => DeviceError::Driver(error),
    })
}

/// Opens the driver that `choice` selects: `Auto` takes ROCm, then CUDA. Returns `None` for Vulkan and the CPU, and if
/// `Auto` finds no driver.
///
/// # Errors
/// Names what an explicitly named driver lacks.
pub fn open_driver_of(
    choice: BackendChoice,
    wanted: Option<&str>,
) -> Result<Option<Driver>, DeviceError> {
    match choice.backend() {
        Some(backend) if vendor_of(backend).is_some() => open_driver(backend, wanted).map(Some),
        Some(_) => Ok(None),
        None => Ok([Backend::Rocm, Backend::Cuda]
            .into_iter()
            .find_map(|backend| open_driver(backend, wanted).ok())),
    }
}

fn open_vulkan(wanted: Option<&str>) -> Result<OpenDevice, DeviceError> {
    let adapter = vulkan::find(wanted)?;
    let backend = Backend::Vulkan;
    let device = gpu::open_adapter(&adapter).ok_or(DeviceError::NotCompiledIn { backend })?;
    Ok(OpenDevice {
        device,
        backend,
        facts: DeviceFacts::from(&adapter),
    })
}

/// Opens a device by index, as CUDA and ROCm number them.
fn open_indexed(backend: Backend, wanted: Option<&str>) -> Result<OpenDevice, DeviceError> {
    let count = gpu::count(backend);
    if count == 0 {
        return Err(DeviceError::NoDevice {
            backend,
            detail: (backend == Backend::Rocm).then(kfd::closed).flatten(),
        });
    }
    let index = match wanted {
        None => 0,
        Some(text) => (text.parse().ok().filter(|index| *index < count))
            .ok_or_else(|| DeviceError::no_such_device(backend, text, count))?,
    };
    let known = vendor_of(backend).and_then(|vendor| driver::inventory(vendor).ok());
    let listed = known.as_ref().and_then(|known| known.devices.get(index));
    listed.map_or(Ok(()), unserved::check)?;
    // If driver and library disagree, the client panics. The panic becomes an error here, not a crash.
    let opened = std::panic::catch_unwind(|| gpu::open_indexed(backend, index));
    let opened = opened.map_err(|panic| DeviceError::CannotOpen {
        backend,
        index,
        detail: tinyllama_base::panics::message(panic.as_ref()),
    })?;
    let (device, name, fingerprint) = opened.ok_or(DeviceError::NotCompiledIn { backend })?;
    let facts = DeviceFacts {
        backend: backend.to_string(),
        device: name,
        arch: architecture(&fingerprint),
        memory: listed.map(|device| device.memory),
        driver: known.and_then(|known| known.driver),
    };
    Ok(OpenDevice {
        device,
        backend,
        facts,
    })
}

/// Extracts `gfx942` from `hip-kernel_gfx942`, `sm_90` from `ptx_sm90`.
fn architecture(fingerprint: &str) -> Option<String> {
    let name = fingerprint
        .split('_')
        .find(|word| word.starts_with("gfx") || word.starts_with("sm"))?;
    Some(match name.strip_prefix("sm") {
        Some(number) => format!("sm_{number}"),
        None => name.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_there() {
        let opened = open(BackendChoice::Cpu, None).unwrap();
        assert_eq!(opened.backend, Backend::Cpu);
        let other = open(BackendChoice::Cpu, Some("foo"))
            .unwrap_err()
            .to_string();
        assert!(other.contains("foo") && other.contains("are: 0"), "{other}");
        assert!(opened.facts.memory.is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn architectures_are_read_from_fingerprints() {
        assert_eq!(architecture("ptx_sm90").as_deref(), Some("sm_90"));
        assert_eq!(architecture("hip-kernel_gfx942").as_deref(), Some("gfx942"));
        assert_eq!(architecture(""), None);
    }

    #[test]
    fn a_backend_left_out_of_the_build_names_its_feature() {
        let choices = [
            BackendChoice::Rocm,
            BackendChoice::Cuda,
            BackendChoice::Vulkan,
        ];
        for choice in choices {
            let backend = choice.backend().unwrap();
            if !is_compiled_in(backend) {
                let error = open(choice, None).unwrap_err();
                assert_eq!(error, DeviceError::NotCompiledIn { backend });
                let flag = format!("--features {}", backend.name());
                assert!(error.remedy().contains(&flag), "{}", error.remedy());
            }
        }
    }
}
