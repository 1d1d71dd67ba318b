//! Opening the device to measure, without burn.

use super::super::driver::{self, Driver, DriverError, Vendor};
use super::super::{Backend, BackendChoice, DeviceError, DeviceFacts, cpu_facts, library, vulkan};

pub(super) enum Opened {
    Gpu(DeviceFacts, Driver),
    Vulkan(DeviceFacts),
    Cpu(DeviceFacts),
}

/// `Auto` takes ROCm, then CUDA, then Vulkan on a real GPU, then the CPU.
pub(super) fn open(choice: BackendChoice, wanted: Option<&str>) -> Result<Opened, DeviceError> {
    let cpu = || Opened::Cpu(cpu_facts());
    match choice {
        BackendChoice::Auto => Ok(open_gpu(Backend::Rocm, wanted)
            .or_else(|_| open_gpu(Backend::Cuda, wanted))
            .or_else(|_| open_vulkan(wanted))
            .unwrap_or_else(|_| cpu())),
        BackendChoice::Rocm => open_gpu(Backend::Rocm, wanted),
        BackendChoice::Cuda => open_gpu(Backend::Cuda, wanted),
        BackendChoice::Vulkan => open_vulkan(wanted),
        BackendChoice::Cpu => Ok(cpu()),
    }
}

fn open_vulkan(wanted: Option<&str>) -> Result<Opened, DeviceError> {
    let backend = Backend::Vulkan;
    if !backend.compiled_in() {
        return Err(DeviceError::NotCompiledIn { backend });
    }
    library::check(backend)?;
    let adapter = vulkan::pick(&vulkan::adapters(), wanted)?;
    Ok(Opened::Vulkan(DeviceFacts {
        backend,
        name: adapter.name,
        arch: None,
        driver: Some(adapter.driver),
        memory: None,
    }))
}

fn open_gpu(backend: Backend, wanted: Option<&str>) -> Result<Opened, DeviceError> {
    let vendor = match backend {
        Backend::Rocm => Vendor::Amd,
        _ => Vendor::Nvidia,
    };
    // No device has the largest index, so the driver answers with those there are.
    let index = wanted.map_or(0, |text| text.parse().unwrap_or(usize::MAX));
    let driver = driver::open(vendor, index)
        .map_err(|error| device_error(backend, index, wanted.unwrap_or("0"), error))?;
    let properties = driver.properties();
    let facts = DeviceFacts {
        backend,
        name: properties.name.clone(),
        arch: Some(properties.arch.clone()),
        // In the words a run on this backend uses, so that the two can be compared.
        driver: library::driver_version(backend).or_else(|| Some(properties.driver.clone())),
        memory: Some(properties.memory),
    };
    Ok(Opened::Gpu(facts, driver))
}

pub(super) fn device_error(
    backend: Backend,
    index: usize,
    wanted: &str,
    error: DriverError,
) -> DeviceError {
    match error {
        DriverError::LibraryMissing {
            library, detail, ..
        } => DeviceError::LibraryMissing {
            backend,
            library,
            detail,
        },
        DriverError::NoDevice { .. } => DeviceError::NoDevice {
            backend,
            detail: None,
        },
        DriverError::NoSuchDevice { count, .. } => DeviceError::NoSuchDevice {
            backend,
            wanted: wanted.to_string(),
            present: (0..count).map(|index| index.to_string()).collect(),
        },
        error => DeviceError::CannotOpen {
            backend,
            index,
            detail: error.to_string(),
        },
    }
}
