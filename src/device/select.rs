//! Choosing a backend and opening its device.

use std::fmt;

use burn::tensor::{Device, FloatDType};

use super::{DeviceError, cpu, library, vulkan};

/// What carries the tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    Rocm,
    Cuda,
    Vulkan,
    Cpu,
}

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendChoice {
    /// ROCm, then CUDA, then Vulkan on a real GPU, then the CPU
    Auto,
    /// AMD GPUs through HIP
    Rocm,
    /// NVIDIA GPUs through CUDA
    Cuda,
    /// Any GPU with a Vulkan driver
    Vulkan,
    /// burn's pure Rust backend; always there
    Cpu,
}

/// A device ready to train on, and what is known of it.
#[derive(Clone, Debug)]
pub struct OpenDevice {
    pub device: Device,
    pub backend: Backend,
    pub name: String,
    /// `gfx942`, `sm_90`, `x86_64`; `None` where the backend does not say.
    pub arch: Option<String>,
    pub driver: Option<String>,
    /// Bytes.
    pub memory: Option<u64>,
}

/// What is known of a device, for the first line of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    pub backend: Backend,
    pub name: String,
    pub arch: Option<String>,
    pub driver: Option<String>,
    /// Bytes.
    pub memory: Option<u64>,
}

/// The CPU, for what computes on it without burn.
pub fn cpu_facts() -> DeviceFacts {
    DeviceFacts::from(&cpu::open())
}

impl From<&OpenDevice> for DeviceFacts {
    fn from(open: &OpenDevice) -> Self {
        DeviceFacts {
            backend: open.backend,
            name: open.name.clone(),
            arch: open.arch.clone(),
            driver: open.driver.clone(),
            memory: open.memory,
        }
    }
}

impl OpenDevice {
    /// Refuses a type the device stores but cannot compute in.
    pub fn require_dtype(&self, dtype: FloatDType) -> Result<(), DeviceError> {
        if self.device.supports_dtype(dtype) {
            return Ok(());
        }
        Err(DeviceError::UnsupportedType {
            device: self.name.clone(),
            dtype: format!("{dtype:?}").to_lowercase(),
        })
    }
}

impl Backend {
    pub const ALL: [Backend; 4] = [Backend::Rocm, Backend::Cuda, Backend::Vulkan, Backend::Cpu];

    pub fn name(self) -> &'static str {
        match self {
            Backend::Rocm => "rocm",
            Backend::Cuda => "cuda",
            Backend::Vulkan => "vulkan",
            Backend::Cpu => "cpu",
        }
    }

    /// Whether this build contains it.
    pub fn compiled_in(self) -> bool {
        match self {
            Backend::Rocm => cfg!(feature = "rocm"),
            Backend::Cuda => cfg!(feature = "cuda"),
            Backend::Vulkan => cfg!(feature = "vulkan"),
            Backend::Cpu => true,
        }
    }

    /// Whether kernels are launched on a device that runs on its own while the host goes on.
    pub fn is_asynchronous(self) -> bool {
        self != Backend::Cpu
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Opens the device `choice` leads to.
///
/// `wanted` is an index, or for Vulkan part of an adapter's name; without it the first real GPU is taken.
/// `Auto` passes over what is missing and ends at the CPU; a backend named explicitly must work.
pub fn open(choice: BackendChoice, wanted: Option<&str>) -> Result<OpenDevice, DeviceError> {
    match choice {
        BackendChoice::Auto => [Backend::Rocm, Backend::Cuda, Backend::Vulkan]
            .into_iter()
            .find_map(|backend| open_backend(backend, wanted).ok())
            .map_or_else(|| open_backend(Backend::Cpu, None), Ok),
        BackendChoice::Rocm => open_backend(Backend::Rocm, wanted),
        BackendChoice::Cuda => open_backend(Backend::Cuda, wanted),
        BackendChoice::Vulkan => open_backend(Backend::Vulkan, wanted),
        BackendChoice::Cpu => open_backend(Backend::Cpu, wanted),
    }
}

fn open_backend(backend: Backend, wanted: Option<&str>) -> Result<OpenDevice, DeviceError> {
    if !backend.compiled_in() {
        return Err(DeviceError::NotCompiledIn { backend });
    }
    library::check(backend)?;
    match backend {
        Backend::Cpu => Ok(cpu::open()),
        Backend::Vulkan => open_vulkan(wanted),
        Backend::Rocm | Backend::Cuda => open_indexed(backend, wanted),
    }
}

fn open_vulkan(wanted: Option<&str>) -> Result<OpenDevice, DeviceError> {
    let adapter = vulkan::pick(&vulkan::adapters(), wanted)?;
    #[cfg(feature = "vulkan")]
    let device = Device::vulkan(adapter.kind.clone());
    #[cfg(not(feature = "vulkan"))]
    let device = Device::flex();
    Ok(OpenDevice {
        device,
        backend: Backend::Vulkan,
        name: adapter.name,
        arch: None,
        driver: Some(adapter.driver),
        memory: None,
    })
}

/// CUDA and ROCm number their devices.
fn open_indexed(backend: Backend, wanted: Option<&str>) -> Result<OpenDevice, DeviceError> {
    let count = count_devices(backend);
    if count == 0 {
        return Err(DeviceError::NoDevice {
            backend,
            detail: None,
        });
    }
    let index = match wanted {
        None => 0,
        Some(text) => text
            .parse()
            .ok()
            .filter(|index| *index < count)
            .ok_or_else(|| DeviceError::NoSuchDevice {
                backend,
                wanted: text.to_string(),
                present: (0..count).map(|index| index.to_string()).collect(),
            })?,
    };
    // A driver and a library that disagree panic inside the client: that is an answer, not a crash.
    let opened = std::panic::catch_unwind(|| {
        let device = indexed_device(backend, index);
        let identity = device.identity();
        (device, identity)
    });
    let (device, identity) = opened.map_err(|panic| DeviceError::CannotOpen {
        backend,
        index,
        detail: crate::panics::message(panic.as_ref()),
    })?;
    let identity = identity.unwrap_or_default();
    Ok(OpenDevice {
        device,
        backend,
        arch: architecture(&identity.fingerprint),
        name: identity.name,
        driver: library::driver_version(backend),
        memory: library::device_memory(backend, index),
    })
}

#[cfg_attr(not(any(feature = "cuda", feature = "rocm")), allow(unused_variables))]
fn count_devices(backend: Backend) -> usize {
    match backend {
        #[cfg(feature = "cuda")]
        Backend::Cuda => Device::enumerate(burn::tensor::DeviceType::Cuda)
            .into_vec()
            .len(),
        #[cfg(feature = "rocm")]
        Backend::Rocm => Device::enumerate(burn::tensor::DeviceType::Rocm)
            .into_vec()
            .len(),
        _ => 0,
    }
}

#[cfg_attr(not(any(feature = "cuda", feature = "rocm")), allow(unused_variables))]
fn indexed_device(backend: Backend, index: usize) -> Device {
    match backend {
        #[cfg(feature = "cuda")]
        Backend::Cuda => Device::cuda(index),
        #[cfg(feature = "rocm")]
        Backend::Rocm => Device::rocm(index),
        _ => Device::flex(),
    }
}

/// `gfx942` out of `hip-kernel_gfx942`, `sm_90` out of `ptx_sm90`.
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
        assert!(opened.memory.is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn architectures_are_read_from_fingerprints() {
        assert_eq!(architecture("ptx_sm90").as_deref(), Some("sm_90"));
        assert_eq!(architecture("hip-kernel_gfx942").as_deref(), Some("gfx942"));
        assert_eq!(architecture(""), None);
    }

    #[cfg(not(feature = "rocm"))]
    #[test]
    fn a_backend_left_out_of_the_build_names_its_feature() {
        let error = open(BackendChoice::Rocm, None).unwrap_err();
        assert!(error.remedy().contains("--features rocm"));
    }
}
