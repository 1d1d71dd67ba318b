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
use serde::{Deserialize, Serialize};

use super::{BackendChoice, cpu_facts, open_driver_of, vulkan as adapter};
use crate::base::device_facts::DeviceFacts;
use crate::base::named::named;
use crate::base::statistics::Series;

/// Everything measured on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub facts: DeviceFacts,
    pub compute: Vec<ComputeCeiling>,
    pub bandwidth: Vec<BandwidthCeiling>,
    /// Time the host needs to hand over a kernel that does nothing, back to back.
    pub launch: Option<Latency>,
    /// Time from handing over an empty kernel to knowing that it has ended.
    pub synchronise: Option<Latency>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

/// Repeats of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
    pub repeats: usize,
}

impl Sampled {
    /// None without a repeat, or with one that is no finite number above zero.
    pub fn of(repeats: &[f64]) -> Option<Self> {
        let series = Series::new(repeats.to_vec()).ok()?;
        Some(Sampled {
            median: series.median(),
            p10: series.quantile(0.1),
            p90: series.quantile(0.9),
            repeats: repeats.len(),
        })
    }
}

named! {
    /// What carries out arithmetic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Unit {
        /// Multiply-adds of single lanes.
        Vector = "vector",
        /// A large matrix product, by whatever carries it out fastest here.
        Matrix = "matrix",
    }
}

/// FLOP/s, a multiply-add counted as two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComputeCeiling {
    /// `f32`, `tf32`, `bf16` or `f16`.
    pub dtype: String,
    pub unit: Unit,
    pub flops_per_s: Sampled,
    /// In words: what ran, how large.
    pub how: String,
}

named! {
    /// Where the bytes of a copy come from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Level {
        /// A working set far larger than every cache: what memory delivers.
        Cold = "memory",
        /// A working set that stays in the last cache.
        Warm = "cache",
    }
}

/// Bytes read and written a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandwidthCeiling {
    pub level: Level,
    pub bytes_per_s: Sampled,
    /// Bytes touched by a repeat: source and target together.
    pub working_set: u64,
    pub how: String,
}

/// Microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub microseconds: Sampled,
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

impl Measured {
    /// FLOP/s that `dtype` was seen to reach, by the faster of vector and matrix units unless one is asked for.
    pub fn flops_per_s(&self, dtype: &str, unit: Option<Unit>) -> Option<f64> {
        self.compute
            .iter()
            .filter(|ceiling| ceiling.dtype == dtype)
            .filter(|ceiling| unit.is_none_or(|unit| ceiling.unit == unit))
            .map(|ceiling| ceiling.flops_per_s.median)
            .max_by(f64::total_cmp)
    }

    pub fn bytes_per_s(&self, level: Level) -> Option<f64> {
        self.bandwidth
            .iter()
            .filter(|ceiling| ceiling.level == level)
            .map(|ceiling| ceiling.bytes_per_s.median)
            .max_by(f64::total_cmp)
    }

    /// Microseconds to hand over a kernel.
    pub fn launch_us(&self) -> Option<f64> {
        self.launch
            .as_ref()
            .map(|latency| latency.microseconds.median)
    }

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
