//! Properties of a device, from which a schedule chooses its block sizes.

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;

use super::calls::{Calls, OwnInterface};
use super::interface::HipProperties;
use super::{DriverError, Result};
use tinyllama_base::named;

named! {
    /// The vendor of a driver. Pairs of names or numbers for both vendors have this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Vendor {
        /// CUDA.
        Nvidia = "CUDA",
        /// HIP.
        Amd = "HIP",
    }
}

/// Properties that the driver reports. Nothing here is measured or looked up in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    pub vendor: Vendor,
    pub name: String,
    /// The run-time compiler's name of the architecture: `sm_90`, `gfx942`.
    pub arch: String,
    /// The driver's version: `CUDA 13.0` or `HIP 7.1.52802`.
    pub driver: String,
    /// Major number of that version.
    pub driver_major: u32,
    /// Threads that execute together: a warp (32) or a wavefront (64 on CDNA).
    pub plane_size: u32,
    /// Number of streaming multiprocessors or compute units.
    pub compute_units: u32,
    pub max_threads_per_block: u32,
    pub max_threads_per_unit: u32,
    /// Shared memory (LDS) per block without opting in, in bytes.
    pub shared_per_block: usize,
    /// Largest shared memory per block after opting in, in bytes.
    pub shared_per_block_most: usize,
    /// Last-level cache in bytes, if the driver reports it.
    pub l2_bytes: Option<usize>,
    /// Total device memory in bytes.
    pub memory: u64,
    /// True if a kernel may start before the previous one has ended (see [`LaunchMode::Overlapping`]).
    ///
    /// [`LaunchMode::Overlapping`]: super::LaunchMode::Overlapping
    pub overlapping: bool,
}

/// The numbers of a device attribute: `CUdevice_attribute`, `hipDeviceAttribute_t`.
pub(super) type Attribute = [c_int; 2];

pub(super) const MAX_THREADS_PER_BLOCK: Attribute = [1, 56];
pub(super) const SHARED_PER_BLOCK: Attribute = [8, 74];
pub(super) const PLANE_SIZE: Attribute = [10, 87];
pub(super) const COMPUTE_UNITS: Attribute = [16, 63];
pub(super) const L2_BYTES: Attribute = [38, 19];
pub(super) const MAX_THREADS_PER_UNIT: Attribute = [39, 57];
pub(super) const SHARED_PER_BLOCK_MOST: Attribute = [97, 75];
const CUDA_CAPABILITY_MAJOR: c_int = 75;
const CUDA_CAPABILITY_MINOR: c_int = 76;

impl Properties {
    /// Returns an AMD device's properties as far as sources depend on them, without asking a device.
    pub fn offline(arch: &str, plane_size: u32, compute_units: u32) -> Properties {
        const SHARED: usize = 64 << 10;
        Properties {
            vendor: Vendor::Amd,
            name: arch.to_owned(),
            arch: arch.to_owned(),
            driver: String::new(),
            driver_major: 0,
            plane_size,
            compute_units,
            max_threads_per_block: 1024,
            max_threads_per_unit: 2048,
            shared_per_block: SHARED,
            shared_per_block_most: SHARED,
            l2_bytes: None,
            memory: 0,
            overlapping: false,
        }
    }

    pub(super) fn query(calls: &Calls, device: c_int) -> Result<Properties> {
        let read = |attribute| -> Result<u32> {
            let mut value = 0;
            // SAFETY: the pointer to the result is valid for writing.
            unsafe { calls.device_attribute(&mut value, attribute, device)? };
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let needed = |attribute: Attribute| read(attribute[calls.vendor as usize]);
        // A driver refuses an unknown attribute, and answers 0 if it has no value.
        let known = |attribute| needed(attribute).ok().filter(|value| *value > 0);
        let version = version(calls)?;
        let (arch, overlapping) = match &calls.own {
            OwnInterface::Cuda(_, extended) => {
                let major = read(CUDA_CAPABILITY_MAJOR)?;
                let minor = read(CUDA_CAPABILITY_MINOR)?;
                // The feature exists from sm_90 on. Graphs can capture it from CUDA 12.3 on.
                let overlapping = major >= 9 && version >= 12_030 && extended.is_some();
                (format!("sm_{major}{minor}"), overlapping)
            }
            OwnInterface::Hip(_) => (hip_arch(calls, device)?, false),
        };
        let shared_per_block = needed(SHARED_PER_BLOCK)?;
        let shared_most = known(SHARED_PER_BLOCK_MOST).unwrap_or(0);
        let [driver_major, ..] = version_parts(calls.vendor, version);
        Ok(Properties {
            vendor: calls.vendor,
            name: name(calls, device)?,
            arch,
            driver: show_version(calls.vendor, version),
            driver_major: u32::try_from(driver_major).unwrap_or(0),
            plane_size: needed(PLANE_SIZE)?,
            compute_units: needed(COMPUTE_UNITS)?,
            max_threads_per_block: needed(MAX_THREADS_PER_BLOCK)?,
            max_threads_per_unit: needed(MAX_THREADS_PER_UNIT)?,
            shared_per_block: shared_per_block as usize,
            shared_per_block_most: shared_most.max(shared_per_block) as usize,
            l2_bytes: known(L2_BYTES).map(|bytes| bytes as usize),
            memory: total_memory(calls, device)?,
            overlapping,
        })
    }
}

/// A driver's report on itself and its devices, without opening one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// `CUDA 13.0` or `HIP 7.1.52802`.
    pub driver: Option<String>,
    pub devices: Vec<ListedDevice>,
}

/// A device as its driver lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDevice {
    pub name: String,
    /// `gfx942`; `None` on CUDA.
    pub arch: Option<String>,
    /// Memory in bytes.
    pub memory: u64,
}

/// Asks the driver of `vendor` for its devices.
///
/// # Errors
/// Names the missing or unresponsive part.
pub fn inventory(vendor: Vendor) -> Result<Inventory> {
    let calls = Calls::load(vendor)?;
    let devices = (0..calls.count).map(|index| {
        let device = calls.device(index)?;
        Ok(ListedDevice {
            name: name(&calls, device)?,
            arch: hip_arch(&calls, device).ok(),
            memory: total_memory(&calls, device)?,
        })
    });
    Ok(Inventory {
        devices: devices.collect::<Result<_>>()?,
        driver: version(&calls)
            .ok()
            .map(|version| show_version(vendor, version)),
    })
}

fn version(calls: &Calls) -> Result<c_int> {
    let mut version = 0;
    // SAFETY: the pointer to the result is valid for writing.
    unsafe { calls.version(&mut version)? };
    Ok(version)
}

/// Splits a version: CUDA counts `major * 1000 + minor * 10`, HIP `major * 10^7 + minor * 10^5 + patch`.
fn version_parts(vendor: Vendor, version: c_int) -> [c_int; 3] {
    match vendor {
        Vendor::Nvidia => [version / 1000, version % 1000 / 10, 0],
        Vendor::Amd => [
            version / 10_000_000,
            version / 100_000 % 100,
            version % 100_000,
        ],
    }
}

fn show_version(vendor: Vendor, version: c_int) -> String {
    let [major, minor, patch] = version_parts(vendor, version);
    match vendor {
        Vendor::Nvidia => format!("{vendor} {major}.{minor}"),
        Vendor::Amd => format!("{vendor} {major}.{minor}.{patch}"),
    }
}

fn name(calls: &Calls, device: c_int) -> Result<String> {
    let mut name: [c_char; 256] = [0; 256];
    // SAFETY: the buffer has the given number of bytes, of which the last stays zero.
    unsafe {
        calls.device_name(name.as_mut_ptr(), 255, device)?;
        Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
    }
}

fn total_memory(calls: &Calls, device: c_int) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: the pointer to the result is valid for writing.
    unsafe { calls.device_memory(&mut bytes, device)? };
    Ok(bytes as u64)
}

/// Returns `gfx942` for `gfx942:sramecc+:xnack-`: code for it runs with either setting of these features.
fn hip_arch(calls: &Calls, device: c_int) -> Result<String> {
    let OwnInterface::Hip(hip) = &calls.own else {
        return Err(DriverError::Invalid("a HIP architecture of CUDA".into()));
    };
    let mut properties = MaybeUninit::<HipProperties>::zeroed();
    // SAFETY: the buffer has room for more than the structure, and all-zero bytes are valid for it.
    let properties = unsafe {
        hip.device_properties(properties.as_mut_ptr(), device)?;
        properties.assume_init()
    };
    let arch = String::from_utf8_lossy(&properties.arch);
    let arch = arch.split([':', '\0']).next().unwrap_or_default();
    Ok(arch.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_shown_as_the_vendors_do() {
        assert_eq!(show_version(Vendor::Nvidia, 13_010), "CUDA 13.1");
        assert_eq!(show_version(Vendor::Amd, 70_152_802), "HIP 7.1.52802");
    }
}
