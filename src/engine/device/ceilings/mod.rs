//! Measures a device with a single kind of work at a time: products, copies, launches, waits. `calibrate` stores the
//! results.
//!
//! GPUs are measured through the driver layer, with the vendor's matrix library and our own kernels, so the build needs
//! no burn backend. A measurement that a device cannot do becomes a note; the other measurements still run.

mod cpu;
mod gpu;
#[cfg(test)]
mod tests;
mod vulkan;

use anyhow::{Result, bail};

use super::{cpu_facts, open_driver_of, vulkan as adapter};
use tinyllama_contract::BackendChoice;
use tinyllama_contract::ceilings::{
    BandwidthCeiling, ComputeCeiling, ComputeUnit, DeviceCeilings, Latency, Level, Sampled,
};

/// Measures the device that `choice` and `wanted` (an index, or part of a Vulkan adapter's name) select. `progress`
/// gets the name of each measurement as it starts. It takes some 20 seconds on a GPU and 10 on a CPU; nothing else
/// should use the device.
///
/// # Errors
/// A [`DeviceError`](super::DeviceError) if the device cannot be opened; the first failure if nothing could be
/// measured.
pub fn measure(
    choice: BackendChoice,
    wanted: Option<&str>,
    progress: &mut dyn FnMut(&str),
) -> Result<DeviceCeilings> {
    if let Some(driver) = open_driver_of(choice, wanted)? {
        let measured = gpu::measure(&driver, &gpu::FULL, progress);
        if measured.is_empty() {
            bail!(
                "nothing could be measured on {}: {}",
                measured.facts.device,
                measured.notes.join("; ")
            );
        }
        return Ok(measured);
    }
    match choice {
        BackendChoice::Vulkan => vulkan::measure(wanted, progress),
        BackendChoice::Auto if adapter::find(wanted).is_ok() => vulkan::measure(wanted, progress),
        _ => Ok(cpu::measure(cpu_facts(), &cpu::FULL, progress)),
    }
}
