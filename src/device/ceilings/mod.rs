//! What a device reaches when it does one thing only: products, copies, launches, waiting. The material of `calibrate`.
//!
//! GPUs are measured through the driver layer, with the vendor's matrix library and kernels of our own, so burn's backends
//! need not be part of the build. What cannot be measured on a device becomes a note and leaves the rest as it is.

mod cpu;
mod gpu;
mod open;
#[cfg(test)]
mod tests;

use anyhow::{Result, bail};

use super::{BackendChoice, DeviceFacts};
use open::Opened;

/// Everything measured on one device. Every list of repeats holds finite numbers above zero, in the order measured.
#[derive(Clone, Debug)]
pub struct Measured {
    pub facts: DeviceFacts,
    pub compute: Vec<ComputeRates>,
    pub bandwidth: Vec<BandwidthRates>,
    /// Time the host needs to hand over a kernel that does nothing, back to back.
    pub launch: Option<Latencies>,
    /// Time from handing over an empty kernel to knowing that it has ended.
    pub synchronise: Option<Latencies>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

/// What carries out arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticUnit {
    /// Multiply-adds of single lanes.
    Vector,
    /// A large matrix product.
    Matrix,
}

/// FLOP/s, a multiply-add counted as two.
#[derive(Clone, Debug)]
pub struct ComputeRates {
    /// `f32`, `tf32` or `bf16`.
    pub dtype: &'static str,
    pub unit: ArithmeticUnit,
    pub flops_per_s: Vec<f64>,
    /// In words: what ran, how large.
    pub how: String,
}

/// Where the bytes of a copy come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLevel {
    /// A working set far larger than every cache.
    Cold,
    /// A working set that stays in a cache.
    Warm,
}

/// Bytes read and written a second.
#[derive(Clone, Debug)]
pub struct BandwidthRates {
    pub level: MemoryLevel,
    pub bytes_per_s: Vec<f64>,
    /// Bytes of source and target together.
    pub working_set: u64,
    pub how: String,
}

/// Microseconds.
#[derive(Clone, Debug)]
pub struct Latencies {
    pub microseconds: Vec<f64>,
    pub how: String,
}

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
    match open::open(choice, wanted)? {
        Opened::Gpu(facts, driver) => {
            let measured = gpu::measure(facts, &driver, &gpu::FULL, progress);
            if measured.is_empty() {
                bail!(
                    "nothing could be measured on {}: {}",
                    measured.facts.name,
                    measured.notes.join("; ")
                );
            }
            Ok(measured)
        }
        Opened::Vulkan(facts) => {
            let mut measured = Measured::new(facts);
            measured.notes.push(
                "no ceiling is measured through Vulkan, which has neither a vendor's matrix library nor streams; \
                 `kernels --bench` times the kernels themselves there"
                    .into(),
            );
            Ok(measured)
        }
        Opened::Cpu(facts) => Ok(cpu::measure(facts, &cpu::FULL, progress)),
    }
}

impl Measured {
    fn new(facts: DeviceFacts) -> Self {
        Measured {
            facts,
            compute: vec![],
            bandwidth: vec![],
            launch: None,
            synchronise: None,
            notes: vec![],
        }
    }

    fn is_empty(&self) -> bool {
        self.compute.is_empty()
            && self.bandwidth.is_empty()
            && self.launch.is_none()
            && self.synchronise.is_none()
    }
}

/// Bytes as a person would say them.
fn size_in_words(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 => format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64),
        bytes if bytes >= 1 << 20 => format!("{:.1} MiB", bytes as f64 / (1_u64 << 20) as f64),
        bytes => format!("{} KiB", bytes >> 10),
    }
}
