//! Asking a driver what its device is.

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;

use super::calls::{Calls, OwnInterface, call};
use super::interface::HipProperties;
use super::properties::Properties;
use super::{DriverError, Vendor};

type Result<T> = std::result::Result<T, DriverError>;

/// The numbers of the device attributes, `CUdevice_attribute` and `hipDeviceAttribute_t`.
struct Attributes {
    plane_size: c_int,
    compute_units: c_int,
    max_threads_per_block: c_int,
    max_threads_per_unit: c_int,
    registers_per_block: c_int,
    shared_per_block: c_int,
    shared_per_block_most: c_int,
    shared_per_unit: c_int,
    l2_bytes: c_int,
    clock_khz: c_int,
    cooperative: c_int,
}

const CUDA: Attributes = Attributes {
    plane_size: 10,
    compute_units: 16,
    max_threads_per_block: 1,
    max_threads_per_unit: 39,
    registers_per_block: 12,
    shared_per_block: 8,
    shared_per_block_most: 97,
    shared_per_unit: 81,
    l2_bytes: 38,
    clock_khz: 13,
    cooperative: 95,
};
const CUDA_CAPABILITY_MAJOR: c_int = 75;
const CUDA_CAPABILITY_MINOR: c_int = 76;

const HIP: Attributes = Attributes {
    plane_size: 87,
    compute_units: 63,
    max_threads_per_block: 56,
    max_threads_per_unit: 57,
    registers_per_block: 71,
    shared_per_block: 74,
    shared_per_block_most: 75,
    shared_per_unit: 10002,
    l2_bytes: 19,
    clock_khz: 5,
    cooperative: 10,
};

pub(super) fn properties(calls: &Calls) -> Result<Properties> {
    let numbers = match calls.vendor {
        Vendor::Nvidia => CUDA,
        Vendor::Amd => HIP,
    };
    let needed =
        |attribute| attribute_of(calls, attribute).map(|value| u32::try_from(value).unwrap_or(0));
    // A driver that does not know an attribute refuses it; one that has no answer says 0.
    let known = |attribute| needed(attribute).ok().filter(|value| *value > 0);
    let bytes = |attribute| known(attribute).map(|value| value as usize);
    let version = version(calls)?;
    let (arch, overlapping) = match &calls.own {
        OwnInterface::Cuda(cuda) => {
            let major = needed(CUDA_CAPABILITY_MAJOR)?;
            let minor = needed(CUDA_CAPABILITY_MINOR)?;
            // From sm_90 on; captured into graphs from CUDA 12.3 on.
            let overlapping = major >= 9 && version >= 12_030 && cuda.launch_extended.is_some();
            (format!("sm_{major}{minor}"), overlapping)
        }
        OwnInterface::Hip(_) => (hip_arch(calls)?, false),
    };
    let shared_per_block = needed(numbers.shared_per_block)? as usize;
    Ok(Properties {
        vendor: calls.vendor,
        name: name(calls)?,
        arch,
        driver: show_version(calls.vendor, version),
        plane_size: needed(numbers.plane_size)?,
        compute_units: needed(numbers.compute_units)?,
        max_threads_per_block: needed(numbers.max_threads_per_block)?,
        max_threads_per_unit: needed(numbers.max_threads_per_unit)?,
        registers_per_block: needed(numbers.registers_per_block)?,
        shared_per_block,
        shared_per_block_most: bytes(numbers.shared_per_block_most)
            .unwrap_or(0)
            .max(shared_per_block),
        shared_per_unit: bytes(numbers.shared_per_unit),
        l2_bytes: bytes(numbers.l2_bytes),
        memory: total_memory(calls)?,
        clock_khz: known(numbers.clock_khz),
        cooperative: known(numbers.cooperative).is_some(),
        overlapping,
    })
}

fn attribute_of(calls: &Calls, attribute: c_int) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: a place for the answer.
    unsafe { call!(calls, device_attribute(&mut value, attribute, calls.device))? };
    Ok(value)
}

fn version(calls: &Calls) -> Result<c_int> {
    let mut version = 0;
    // SAFETY: a place for the answer.
    unsafe { call!(calls, version(&mut version))? };
    Ok(version)
}

/// CUDA counts `major * 1000 + minor * 10`, HIP `major * 10^7 + minor * 10^5 + patch`.
fn show_version(vendor: Vendor, version: c_int) -> String {
    match vendor {
        Vendor::Nvidia => format!("{}.{}", version / 1000, version % 1000 / 10),
        Vendor::Amd => format!(
            "{}.{}.{}",
            version / 10_000_000,
            version / 100_000 % 100,
            version % 100_000
        ),
    }
}

fn name(calls: &Calls) -> Result<String> {
    let mut name: [c_char; 256] = [0; 256];
    // SAFETY: as many bytes as said, of which the last stays zero.
    unsafe {
        call!(calls, device_name(name.as_mut_ptr(), 255, calls.device))?;
        Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
    }
}

fn total_memory(calls: &Calls) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: a place for the answer.
    unsafe { call!(calls, device_memory(&mut bytes, calls.device))? };
    Ok(bytes as u64)
}

/// `gfx942` of `gfx942:sramecc+:xnack-`: code for it runs with either setting of those.
fn hip_arch(calls: &Calls) -> Result<String> {
    let OwnInterface::Hip(hip) = &calls.own else {
        return Err(DriverError::Invalid("a HIP architecture of CUDA".into()));
    };
    let mut properties = MaybeUninit::<HipProperties>::zeroed();
    let read = hip.device_properties;
    // SAFETY: room for more than the structure; all-zero bytes are valid for it.
    let properties = unsafe {
        calls.check(
            read.name,
            (read.call)(properties.as_mut_ptr(), calls.device),
        )?;
        properties.assume_init()
    };
    let arch = String::from_utf8_lossy(&properties.arch);
    let arch = arch
        .split([':', '\0'])
        .next()
        .unwrap_or_default()
        .to_owned();
    Ok(arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_shown_as_the_vendors_do() {
        assert_eq!(show_version(Vendor::Nvidia, 13_010), "13.1");
        assert_eq!(show_version(Vendor::Amd, 70_152_802), "7.1.52802");
    }
}
