//! The driver's functions, the device they are for, and their failures by name.

use std::ffi::c_int;
use std::ptr;

use super::api::{FunctionHandle, GraphHandle};
use super::interface::{CudaInterface, DriverInterface, HipInterface, Opaque};
use super::loader::{self, SharedLibrary, check};
use super::{DriverError, Refusal, Vendor};

type Result<T> = std::result::Result<T, DriverError>;

/// The driver's functions and the device they are for.
pub(super) struct Calls {
    pub vendor: Vendor,
    pub common: DriverInterface,
    pub own: OwnInterface,
    /// The device as the driver knows it.
    pub device: c_int,
}

pub(super) enum OwnInterface {
    Cuda(CudaInterface),
    Hip(HipInterface),
}

/// Calls a function of the driver and turns its status into a result.
macro_rules! call {
    ($calls:expr, $function:ident ( $($argument:expr),* $(,)? )) => {{
        let calls: &Calls = &$calls;
        let function = calls.common.$function;
        calls.check(function.name, (function.call)($($argument),*))
    }};
}
pub(super) use call;

/// A handle as the driver takes it.
pub(super) fn opaque(handle: usize) -> Opaque {
    handle as Opaque
}

impl Calls {
    /// Loads the driver of `vendor` and finds its device `index`, without making it current.
    pub fn load(vendor: Vendor, index: usize) -> Result<Self> {
        let library = match vendor {
            Vendor::Nvidia => {
                SharedLibrary::load(vendor, "libcuda.so.1", &["libcuda.so.1", "libcuda.so"])
            }
            Vendor::Amd => SharedLibrary::load(
                vendor,
                "libamdhip64.so",
                &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"],
            ),
        }?;
        let mut calls = Calls {
            vendor,
            common: DriverInterface::load(vendor, &library)?,
            own: match vendor {
                Vendor::Nvidia => OwnInterface::Cuda(CudaInterface::load(&library)?),
                Vendor::Amd => OwnInterface::Hip(HipInterface::load(&library)?),
            },
            device: -1,
        };
        calls.device = calls.find_device(index)?;
        Ok(calls)
    }

    pub fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        check(self.vendor, call, code, |code| self.error_name(code))
    }

    fn error_name(&self, code: c_int) -> Option<String> {
        // SAFETY: both return a constant string, or null for a code they do not know.
        unsafe {
            match &self.own {
                OwnInterface::Cuda(cuda) => {
                    let mut name = ptr::null();
                    (cuda.error_name.call)(code, &mut name);
                    loader::text(name)
                }
                OwnInterface::Hip(hip) => loader::text((hip.error_name.call)(code)),
            }
        }
    }

    fn find_device(&self, index: usize) -> Result<c_int> {
        let vendor = self.vendor;
        let mut count = 0;
        let mut device = -1;
        // SAFETY: places for the answers.
        let counted = unsafe {
            call!(self, initialise(0)).and_then(|()| call!(self, device_count(&mut count)))
        };
        match counted {
            // Without a device both drivers fail here and do not count to zero.
            Err(error) if error.refusal() == Refusal::NoDevice => {
                return Err(DriverError::NoDevice { vendor });
            }
            other => other?,
        }
        let count = usize::try_from(count).unwrap_or(0);
        match c_int::try_from(index) {
            _ if count == 0 => return Err(DriverError::NoDevice { vendor }),
            // SAFETY: a place for the answer.
            Ok(ordinal) if index < count => unsafe { call!(self, device(&mut device, ordinal))? },
            _ => {
                return Err(DriverError::NoSuchDevice {
                    vendor,
                    index,
                    count,
                });
            }
        }
        Ok(device)
    }

    /// Makes the device this thread's current one.
    pub fn enter(&self) -> Result<()> {
        // SAFETY: the device exists; the primary context is given back when `Native` is dropped.
        unsafe {
            match &self.own {
                OwnInterface::Cuda(cuda) => {
                    let mut context = ptr::null_mut();
                    let retain = cuda.retain_context;
                    self.check(retain.name, (retain.call)(&mut context, self.device))?;
                    let set = cuda.set_context;
                    self.check(set.name, (set.call)(context))
                }
                OwnInterface::Hip(hip) => {
                    let set = hip.set_device;
                    self.check(set.name, (set.call)(self.device))
                }
            }
        }
    }

    pub fn node_types(&self, graph: GraphHandle) -> Result<Vec<c_int>> {
        let mut count = 0;
        // SAFETY: first asked for the count only, then given room for as many.
        unsafe {
            call!(
                self,
                graph_nodes(opaque(graph.0), ptr::null_mut(), &mut count)
            )?;
            let mut nodes = vec![ptr::null_mut(); count];
            if count > 0 {
                call!(
                    self,
                    graph_nodes(opaque(graph.0), nodes.as_mut_ptr(), &mut count)
                )?;
            }
            nodes
                .into_iter()
                .take(count)
                .map(|node| {
                    let mut kind = -1;
                    call!(self, node_type(node, &mut kind)).map(|()| kind)
                })
                .collect()
        }
    }

    pub fn function_attribute(&self, function: FunctionHandle, attribute: c_int) -> Result<u32> {
        let mut value = 0;
        // SAFETY: a place for the answer.
        unsafe {
            call!(
                self,
                function_attribute(&mut value, attribute, opaque(function.0))
            )?;
        }
        Ok(u32::try_from(value).unwrap_or(0))
    }
}
