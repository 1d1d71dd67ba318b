//! What a device reaches when it does one thing only: products, copies, launches, waiting. The material of `calibrate`.
//!
//! GPUs are measured through the driver layer, with the vendor's matrix library and kernels of our own, so burn's backends
//! need not be part of the build. What cannot be measured on a device becomes a note and leaves the rest as it is.

mod cpu;
mod gpu;
#[cfg(test)]
mod tests;
mod vulkan;

use anyhow::{Result, bail};

use super::{cpu_facts, open_driver_of, vulkan as adapter};
use tinyllama_contract::BackendChoice;
use tinyllama_contract::ceilings::{
    BandwidthCeiling, ComputeCeiling, Latency, Level, Measured, Sampled, Unit,
};

/// Measures the device that `choice` and `wanted` (an index, or part of a Vulkan adapter's name) lead to, and says through
/// `progress` what it is at. Takes some 20 seconds on a GPU, 10 on a CPU; the device must not be used meanwhile.
///
/// # Errors
/// A [`DeviceError`](super::DeviceError) where the device cannot be opened; the first failure where nothing at all could be
/// measured.
pub fn measure(
    choice: BackendChoice,
    wanted: Option<&str>,
    progress: &mut dyn FnMut(&str),
) -> Result<Measured> {
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
