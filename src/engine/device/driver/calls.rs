//! The driver's functions, its devices, and its failures by name.

use std::ffi::{c_char, c_int};
use std::ops::Deref;
use std::path::PathBuf;
use std::ptr;

use super::interface::{
    CudaInterface, DriverInterface, ExtendedLaunch, GraphClock, GraphKernels, HipInterface,
};
use super::loader::{self, Function, SharedLibrary, Statuses};
use super::{DriverError, ErrorClass, Result, Vendor};
use tinyllama_base::kfd;

/// A vendor's driver, initialised.
pub(super) struct Calls {
    pub vendor: Vendor,
    common: DriverInterface,
    pub own: OwnInterface,
    /// Times a part of a graph; `None` if the driver cannot.
    pub graph_clock: Option<GraphClock>,
    /// Reads the grids of a graph's kernels; `None` if the driver cannot.
    pub graph_kernels: Option<GraphKernels>,
    /// Number of devices.
    pub count: usize,
}

pub(super) enum OwnInterface {
    Cuda(CudaInterface, Option<ExtendedLaunch>),
    Hip(HipInterface),
}

/// The functions that both drivers have.
impl Deref for Calls {
    type Target = DriverInterface;

    fn deref(&self) -> &DriverInterface {
        &self.common
    }
}

fn cuda_statuses(library: &SharedLibrary) -> Result<Statuses> {
    type ErrorNameFunction = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
    // SAFETY: the signature is that of `cuda.h`. It returns a constant string, or null for an unknown code.
    unsafe {
        let name_of: Function<ErrorNameFunction> = library.function(&["cuGetErrorName"])?;
        Ok(Statuses::new(Vendor::Nvidia, move |code| {
            let mut name = ptr::null();
            (name_of.call)(code, &mut name);
            loader::text(name)
        }))
    }
}

/// HIP's function that returns the text of a status.
pub(super) const HIP_STATUS_TEXT: &str = "hipGetErrorName";

fn library(vendor: Vendor) -> Result<SharedLibrary> {
    let names: &[&str] = match vendor {
        Vendor::Nvidia => &["libcuda.so.1", "libcuda.so"],
        Vendor::Amd => &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"],
    };
    SharedLibrary::load(vendor, names, &[])
}

/// Returns the file from which the driver of `vendor` is loaded; `None` if there is none.
pub fn loaded_from(vendor: Vendor) -> Option<PathBuf> {
    type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
    let library = library(vendor).ok()?;
    // SAFETY: the signature is that of both headers; the function is not called.
    let function: Function<Count> =
        unsafe { library.function(&["cuDeviceGetCount", "hipGetDeviceCount"]) }.ok()?;
    library.file(function)
}

impl Calls {
    /// Loads the driver of `vendor` and counts its devices.
    pub fn load(vendor: Vendor) -> Result<Self> {
        let library = library(vendor)?;
        let statuses = match vendor {
            Vendor::Nvidia => cuda_statuses(&library)?,
            Vendor::Amd => Statuses::from_library(&library, &[HIP_STATUS_TEXT])?,
        };
        let mut calls = Calls {
            vendor,
            common: DriverInterface::load(&library, &statuses)?,
            graph_clock: GraphClock::load(&library, &statuses).ok(),
            graph_kernels: GraphKernels::load(&library, &statuses).ok(),
            own: match vendor {
                Vendor::Nvidia => OwnInterface::Cuda(
                    CudaInterface::load(&library, &statuses)?,
                    ExtendedLaunch::load(&library, &statuses).ok(),
                ),
                Vendor::Amd => OwnInterface::Hip(HipInterface::load(&library, &statuses)?),
            },
            count: 0,
        };
        calls.count = calls.count_devices()?;
        Ok(calls)
    }

    fn count_devices(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the pointer to the result is valid for writing.
        match unsafe {
            self.initialise(0)
                .and_then(|()| self.device_count(&mut count))
        } {
            // Without a device, both drivers fail here instead of counting zero.
            Err(error) if error.refusal() == ErrorClass::NoDevice => {}
            other => other?,
        }
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Returns the driver's own number of device `index`.
    pub fn device(&self, index: usize) -> Result<c_int> {
        let (vendor, count) = (self.vendor, self.count);
        let mut device = -1;
        match c_int::try_from(index) {
            _ if count == 0 => Err(DriverError::NoDevice {
                vendor,
                closed: (vendor == Vendor::Amd).then(kfd::closed).flatten(),
            }),
            Ok(ordinal) if index < count => {
                // SAFETY: the pointer to the result is valid for writing.
                unsafe { self.common.device(&mut device, ordinal)? };
                Ok(device)
            }
            _ => Err(DriverError::NoSuchDevice {
                vendor,
                index,
                count,
            }),
        }
    }

    /// Makes `device` this thread's current one.
    pub fn make_current(&self, device: c_int) -> Result<()> {
        // SAFETY: the device exists, and each `make_current` has one `leave`.
        unsafe {
            match &self.own {
                OwnInterface::Cuda(cuda, _) => {
                    let mut context = ptr::null_mut();
                    cuda.retain_context(&mut context, device)?;
                    cuda.set_context(context)
                }
                OwnInterface::Hip(hip) => hip.set_device(device),
            }
        }
    }

    /// Undoes [`make_current`](Self::enter).
    pub fn leave(&self, device: c_int) {
        if let OwnInterface::Cuda(cuda, _) = &self.own {
            // A failure here has no receiver.
            // SAFETY: retained once in `make_current`.
            unsafe { (cuda.release_context.call)(device) };
        }
    }
}
