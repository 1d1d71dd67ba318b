//! The driver's functions, the device they are for, and their failures by name.

use std::ffi::c_int;
use std::ptr;

use super::interface::{CudaInterface, DriverInterface, ExtendedLaunch, GraphClock, HipInterface};
use super::loader::{self, SharedLibrary, call, check};
use super::{DriverError, Refusal, Result, Vendor};
use crate::device::kfd;

/// A vendor's driver, initialised.
pub(super) struct Calls {
    pub vendor: Vendor,
    pub common: DriverInterface,
    pub own: OwnInterface,
    /// What times a part of a graph, where the driver can.
    pub graph_clock: Option<GraphClock>,
    /// Devices there are.
    pub count: usize,
}

pub(super) enum OwnInterface {
    Cuda(CudaInterface, Option<ExtendedLaunch>),
    Hip(HipInterface),
}

impl Calls {
    /// Loads the driver of `vendor` and asks for its devices.
    pub fn load(vendor: Vendor) -> Result<Self> {
        let names: &[&str] = match vendor {
            Vendor::Nvidia => &["libcuda.so.1", "libcuda.so"],
            Vendor::Amd => &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"],
        };
        let library = SharedLibrary::load(vendor, names)?;
        let mut calls = Calls {
            vendor,
            common: DriverInterface::load(vendor, &library)?,
            graph_clock: GraphClock::load(vendor, &library).ok(),
            own: match vendor {
                Vendor::Nvidia => OwnInterface::Cuda(
                    CudaInterface::load(vendor, &library)?,
                    ExtendedLaunch::load(vendor, &library).ok(),
                ),
                Vendor::Amd => OwnInterface::Hip(HipInterface::load(vendor, &library)?),
            },
            count: 0,
        };
        calls.count = calls.count_devices()?;
        Ok(calls)
    }

    pub fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        // SAFETY: both return a constant string, or null for a code they do not know.
        check(self.vendor, call, code, |code| unsafe {
            match &self.own {
                OwnInterface::Cuda(cuda, _) => {
                    let mut name = ptr::null();
                    (cuda.error_name.call)(code, &mut name);
                    loader::text(name)
                }
                OwnInterface::Hip(hip) => loader::text((hip.error_name.call)(code)),
            }
        })
    }

    fn count_devices(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: a place for the answer.
        let counted = unsafe {
            call!(self, common.initialise(0))
                .and_then(|()| call!(self, common.device_count(&mut count)))
        };
        match counted {
            // Without a device both drivers fail here and do not count to zero.
            Err(error) if error.refusal() == Refusal::NoDevice => {}
            other => other?,
        }
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The driver's own number of device `index`.
    pub fn device(&self, index: usize) -> Result<c_int> {
        let (vendor, count) = (self.vendor, self.count);
        let mut device = -1;
        match c_int::try_from(index) {
            _ if count == 0 => Err(DriverError::NoDevice {
                vendor,
                closed: (vendor == Vendor::Amd).then(kfd::closed).flatten(),
            }),
            Ok(ordinal) if index < count => {
                // SAFETY: a place for the answer.
                unsafe { call!(self, common.device(&mut device, ordinal))? };
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
    pub fn enter(&self, device: c_int) -> Result<()> {
        // SAFETY: the device exists; who enters leaves once.
        unsafe {
            match &self.own {
                OwnInterface::Cuda(cuda, _) => {
                    let mut context = ptr::null_mut();
                    call!(self => cuda, retain_context(&mut context, device))?;
                    call!(self => cuda, set_context(context))
                }
                OwnInterface::Hip(hip) => call!(self => hip, set_device(device)),
            }
        }
    }

    /// Undoes [`enter`](Self::enter).
    pub fn leave(&self, device: c_int) {
        if let OwnInterface::Cuda(cuda, _) = &self.own {
            // Nobody is left to hear of a failure.
            // SAFETY: retained once in `enter`.
            unsafe { (cuda.release_context.call)(device) };
        }
    }
}
