//! Errors of a backend, with remedies.

use thiserror::Error;

use super::driver::DriverError;
use tinyllama_contract::Backend;

/// The reason why a backend cannot be used. All are environment errors: exit status 3.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    #[error("the {backend} backend is not part of this build")]
    NotCompiledIn { backend: Backend },
    #[error("{backend} needs {library}, which was not found ({detail})")]
    LibraryMissing {
        backend: Backend,
        library: &'static str,
        detail: String,
    },
    #[error("{library} is too old for {backend}: it has no {function}")]
    LibraryTooOld {
        backend: Backend,
        library: &'static str,
        function: &'static str,
    },
    #[error("rocm needs `hipconfig`, which names the folder of HIP ({detail})")]
    Hipconfig { detail: String },
    #[error("{backend} found no device{}", .detail.as_deref().map(|d| format!(": {d}")).unwrap_or_default())]
    NoDevice {
        backend: Backend,
        detail: Option<String>,
    },
    #[error("no AMD or NVIDIA GPU is reachable from here")]
    NoGpu,
    #[error("there is no {backend} device `{wanted}`; there are: {}", .present.join(", "))]
    NoSuchDevice {
        backend: Backend,
        wanted: String,
        present: Vec<String>,
    },
    #[error("{backend} device {index} could not be opened: {detail}")]
    CannotOpen {
        backend: Backend,
        index: usize,
        detail: String,
    },
    #[error("burn cannot use {device} ({arch}): its table of wave sizes does not have {arch}")]
    UnknownArchitecture { device: String, arch: String },
    #[error("{device} cannot compute in {dtype}")]
    UnsupportedType { device: String, dtype: String },
    #[error(
        "no vendor's matrix library multiplies through {backend}: cuBLASLt needs CUDA, hipBLASLt and rocBLAS need HIP"
    )]
    NoMatrixLibrary { backend: Backend },
    #[error(
        "{what} goes through the driver of an AMD or NVIDIA GPU, and V4 goes through burn here"
    )]
    NeedsDriver { what: String },
    #[error("--graph on: burn replays graphs on CUDA and ROCm, and this run is on {backend}")]
    NoGraphs { backend: Backend },
    #[error("{what} runs on a GPU, and {device} is none")]
    NeedsGpu { what: &'static str, device: String },
    #[error("{what} needs a code generator for GPUs, which is not part of this build")]
    NoCodeGenerator { what: &'static str },
    #[error(transparent)]
    Driver(DriverError),
}

impl DeviceError {
    /// Says that `wanted` is none of the `count` existing devices.
    pub fn no_such_device(backend: Backend, wanted: &str, count: usize) -> Self {
        DeviceError::NoSuchDevice {
            backend,
            wanted: wanted.to_string(),
            present: (0..count).map(|index| index.to_string()).collect(),
        }
    }

    /// Returns what the user can do, in one or two sentences.
    pub fn remedy(&self) -> String {
        match self {
            DeviceError::NotCompiledIn {
                backend: Backend::Rocm,
            } => "Build with `PATH=\"$PWD/.ci/hipconfig:$PATH\" cargo build --release --features rocm`, or choose another with --backend.".into(),
            DeviceError::NotCompiledIn { backend } => format!(
                "Build with `cargo build --release --features {}`, or choose another with --backend.",
                backend.name()
            ),
            DeviceError::LibraryMissing { backend, .. } => match backend {
                Backend::Rocm => "Install ROCm's runtime with its plain .so links (package hip-dev or \
                     rocm-hip-runtime-dev), or set ROCM_PATH to its folder."
                    .into(),
                Backend::Cuda => "Install the NVIDIA driver and the CUDA toolkit's libnvrtc, or add their folder to LD_LIBRARY_PATH.".into(),
                Backend::Vulkan => "Install the Vulkan loader (package libvulkan1) and the GPU's driver.".into(),
                Backend::Cpu => "Report this: the CPU backend needs no library.".into(),
            },
            DeviceError::LibraryTooOld { backend, .. } => match backend {
                Backend::Rocm => "Install ROCm 6.2 or later, or set ROCM_PATH to the folder of one.".into(),
                _ => "Install a newer driver.".into(),
            },
            DeviceError::Hipconfig { .. } => "Put the folder `bin` of ROCm on PATH (`export PATH=/opt/rocm/bin:$PATH`; package hipcc or hip-dev). \
                 If it writes to its error stream, put a script of that name in front that prints HIP's folder alone."
                .into(),
            DeviceError::NoDevice { backend, .. } => match backend {
                Backend::Rocm => "Check `rocminfo`; your user must be in the groups `render` and `video` \
                     (`sudo usermod -aG render,video $USER`, then log in again). On a cluster, ask the scheduler for a GPU."
                    .into(),
                Backend::Cuda => "Check `nvidia-smi` and CUDA_VISIBLE_DEVICES. On a cluster, ask the scheduler for a GPU.".into(),
                Backend::Vulkan => "There are no adapters, or only software ones; name one with --device to use it, or use --backend cpu.".into(),
                Backend::Cpu => "Report this: the CPU backend is always there.".into(),
            },
            DeviceError::NoGpu => "`tinyllama-tutor doctor` shows why. `workbench check` without --gpu needs none.".into(),
            DeviceError::NoGraphs { .. } => "Leave --graph out, or choose --backend cuda or rocm.".into(),
            DeviceError::NoSuchDevice { .. } => "Name one of those with --device. With --gpus, train on no more GPUs than there are.".into(),
            DeviceError::CannotOpen { .. } => {
                "Another process may hold it, or driver and library disagree; `tinyllama-tutor doctor` shows both.".into()
            }
            DeviceError::UnknownArchitecture { .. } => {
                "`tinyllama-tutor run v4` reaches this GPU through its driver and does not need burn. V1 to V3 and the stages need another GPU, or --backend cpu; docs/design/rocm.md says more.".into()
            }
            DeviceError::UnsupportedType { dtype, .. } if dtype == "bf16" => {
                "Use --dtype f32, or f16 with v1 to v3.".into()
            }
            DeviceError::UnsupportedType { .. } => "Take --dtype f32.".into(),
            DeviceError::NoMatrixLibrary { .. } => {
                "Use --gemm auto, which multiplies through burn there, or --backend cuda or rocm.".into()
            }
            DeviceError::NeedsDriver { .. } => {
                "Use --backend cuda or rocm, and --gemm auto.".into()
            }
            DeviceError::NeedsGpu { .. } => {
                "Name a GPU's backend with --backend. Without one, `kernels --check` checks their forms on the CPU, and \
                 `kernels --arch all` shows figures recorded for GPUs that are not here."
                    .into()
            }
            DeviceError::NoCodeGenerator { .. } => {
                "Build with `cargo build --release --features vulkan`, or rocm or cuda instead of vulkan. Without it, `kernels --check` checks \
                 the kernels' forms on the CPU, and `kernels --arch all` shows recorded figures."
                    .into()
            }
            DeviceError::Driver(error) => error.remedy(),
        }
    }
}
