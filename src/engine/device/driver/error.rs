//! Errors between this program and a GPU driver.

use thiserror::Error;

use super::Vendor;

/// A failed call of a driver or of one of its libraries. All but [`Invalid`](Self::Invalid) and
/// [`Compile`](Self::Compile) are errors of the environment.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DriverError {
    #[error("{vendor} needs {library}, which was not found ({detail})")]
    LibraryMissing {
        vendor: Vendor,
        library: &'static str,
        detail: String,
    },
    #[error("{library} has no function {symbol}: it is too old")]
    SymbolMissing { library: String, symbol: String },
    #[error("{vendor} reports no device{}", .closed.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    NoDevice {
        vendor: Vendor,
        /// The reason why the system denies this process the driver's device, if it does.
        closed: Option<String>,
    },
    #[error("{vendor} has no device {index}; there are {count}")]
    NoSuchDevice {
        vendor: Vendor,
        index: usize,
        count: usize,
    },
    /// The driver refused a call.
    #[error("{call} failed: {name} ({code}){}", .detail.as_deref().map(|d| format!(", {d}")).unwrap_or_default())]
    Call {
        vendor: Vendor,
        call: &'static str,
        code: i32,
        /// The driver's own name of the code.
        name: String,
        detail: Option<String>,
    },
    #[error("{name} does not compile for {arch}:\n{log}")]
    Compile {
        name: String,
        arch: String,
        log: String,
    },
    #[error("{library} has no algorithm for {gemm}")]
    NoAlgorithm { library: String, gemm: String },
    /// This program asked for something impossible; the driver was not called.
    #[error("{0}")]
    Invalid(String),
}

/// Result of the driver layer's functions.
pub type Result<T> = std::result::Result<T, DriverError>;

/// The class of a driver's error code, for callers that react to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    OutOfMemory,
    NoDevice,
    /// Driver older than the library, or code for another device.
    Mismatch,
    /// A stream was used in a way a capture does not allow.
    Capture,
    /// A kernel accessed memory outside its buffers, or hung. The process cannot use the device any more.
    Fault,
    Other,
}

impl DriverError {
    /// Classifies a failed call by the driver's name of the error.
    pub fn refusal(&self) -> ErrorClass {
        let DriverError::Call { name, .. } = self else {
            return ErrorClass::Other;
        };
        let name = name.to_ascii_uppercase().replace('_', "");
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&["OUTOFMEMORY", "ALLOCFAILED", "MEMORYALLOCATION"]) {
            ErrorClass::OutOfMemory
        } else if has(&["NODEVICE", "INVALIDDEVICE", "DEVICEUNAVAILABLE"]) {
            ErrorClass::NoDevice
        } else if has(&[
            "NOBINARYFORGPU",
            "INSUFFICIENTDRIVER",
            "SYSTEMDRIVERMISMATCH",
            "UNSUPPORTEDPTX",
            "COMPATNOTSUPPORTED",
            "SHAREDOBJECT",
            "INVALIDIMAGE",
            "INVALIDKERNELFILE",
        ]) {
            ErrorClass::Mismatch
        } else if has(&["CAPTURE"]) {
            ErrorClass::Capture
        } else if has(&[
            "ILLEGAL",
            "MISALIGNED",
            "LAUNCHFAILED",
            "LAUNCHFAILURE",
            "LAUNCHTIMEOUT",
            "ECC",
            "ASSERT",
            "HARDWARESTACK",
        ]) {
            ErrorClass::Fault
        } else {
            ErrorClass::Other
        }
    }

    /// Adds a description of the action to a failed call that has none yet.
    pub(super) fn during(mut self, what: impl FnOnce() -> String) -> Self {
        if let DriverError::Call { detail, .. } = &mut self {
            detail.get_or_insert_with(what);
        }
        self
    }

    /// Returns what the user can do, in one or two sentences.
    pub fn remedy(&self) -> String {
        match self {
            DriverError::LibraryMissing { vendor: Vendor::Nvidia, library, .. } => match *library {
                "libcuda.so.1" => "Install the NVIDIA driver; inside a container, start it with the GPU (`--gpus all`).".into(),
                "libnccl.so.2" => "Install NCCL (`pip install nvidia-nccl-cu13`, or Debian's libnccl2), set NCCL_PATH to the folder it is in, or add that folder to LD_LIBRARY_PATH. It was also looked for below CUDA_HOME and in the packages of every Python in PATH, VIRTUAL_ENV and ~/.local.".into(),
                library => format!("Install the CUDA toolkit's {library}, set CUDA_HOME to the toolkit, or add its folder to LD_LIBRARY_PATH."),
            },
            DriverError::LibraryMissing { vendor: Vendor::Amd, library: "librccl.so.1", .. } => "Install ROCm's rccl, set RCCL_PATH to the folder it is in, or add that folder to LD_LIBRARY_PATH. It was also looked for below ROCM_PATH and /opt/rocm and in the packages of every Python in PATH, VIRTUAL_ENV and ~/.local.".into(),
            DriverError::LibraryMissing { vendor: Vendor::Amd, library, .. } => {
                format!("Install ROCm's {library}, or set ROCM_PATH to ROCm's folder.")
            }
            DriverError::SymbolMissing { .. } => "Install a newer driver and library: CUDA 12.0, ROCm 6.2 and later have it.".into(),
            DriverError::NoDevice { vendor: Vendor::Nvidia, .. } => "Check `nvidia-smi` and CUDA_VISIBLE_DEVICES. On a cluster, ask the scheduler for a GPU.".into(),
            DriverError::NoDevice { vendor: Vendor::Amd, .. } => {
                "Check `rocminfo` and HIP_VISIBLE_DEVICES; your user must be in the groups `render` and `video`. On a cluster, ask the scheduler for a GPU.".into()
            }
            DriverError::NoSuchDevice { .. } => "Name one that exists.".into(),
            DriverError::Call { .. } => match self.refusal() {
                ErrorClass::OutOfMemory => "The device's memory is full: use a smaller --batch-size or --seq-len, or end other processes that use it.".into(),
                ErrorClass::NoDevice => "The device is missing or busy; on a cluster, ask the scheduler for a GPU.".into(),
                ErrorClass::Mismatch => "Driver and library do not fit together: update the driver, or use the toolkit that came with it.".into(),
                ErrorClass::Capture => "The step could not be captured as a graph; run with --ultra off.".into(),
                ErrorClass::Fault => "A kernel failed on the device; this process has lost it. Start again, and report it with the command you ran.".into(),
                ErrorClass::Other => "Run `tinyllama-tutor doctor`, and report this with its output.".into(),
            },
            DriverError::Compile { .. } => "Correct the place the compiler names; for a kernel of this program, report it with the compiler's version.".into(),
            DriverError::NoAlgorithm { .. } => "Use another precision (--matmul-precision f32, another --dtype), or v3, whose products are burn's own.".into(),
            DriverError::Invalid(_) => "Report this: the program asked its driver for something impossible.".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str) -> DriverError {
        DriverError::Call {
            vendor: Vendor::Nvidia,
            call: "f",
            code: 1,
            name: name.into(),
            detail: None,
        }
    }

    #[test]
    fn codes_of_both_drivers_are_classified() {
        for (name, refusal) in [
            ("CUDA_ERROR_OUT_OF_MEMORY", ErrorClass::OutOfMemory),
            ("hipErrorOutOfMemory", ErrorClass::OutOfMemory),
            ("CUBLAS_STATUS_ALLOC_FAILED", ErrorClass::OutOfMemory),
            ("CUDA_ERROR_NO_DEVICE", ErrorClass::NoDevice),
            ("hipErrorNoDevice", ErrorClass::NoDevice),
            ("CUDA_ERROR_NO_BINARY_FOR_GPU", ErrorClass::Mismatch),
            ("hipErrorNoBinaryForGpu", ErrorClass::Mismatch),
            ("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", ErrorClass::Capture),
            ("hipErrorStreamCaptureUnsupported", ErrorClass::Capture),
            ("CUDA_ERROR_ILLEGAL_ADDRESS", ErrorClass::Fault),
            ("hipErrorIllegalAddress", ErrorClass::Fault),
            ("hipErrorLaunchFailure", ErrorClass::Fault),
            ("CUDA_ERROR_INVALID_VALUE", ErrorClass::Other),
        ] {
            assert_eq!(refused(name).refusal(), refusal, "{name}");
        }
    }

    #[test]
    fn a_refused_call_names_itself_and_what_to_do() {
        let error = refused("CUDA_ERROR_OUT_OF_MEMORY");
        assert_eq!(error.to_string(), "f failed: CUDA_ERROR_OUT_OF_MEMORY (1)");
        assert!(error.remedy().contains("--batch-size"));
    }
}
