//! What a device reaches when it does one thing only: products, copies, launches, waiting. What `calibrate` keeps.

use serde::{Deserialize, Serialize};
use tinyllama_base::{DeviceFacts, Series, named};

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

    /// Facts of a device of which nothing is measured yet.
    pub fn new(facts: DeviceFacts) -> Self {
        Measured {
            facts,
            compute: vec![],
            bandwidth: vec![],
            launch: None,
            synchronise: None,
            notes: vec![],
        }
    }

    /// Whether nothing could be measured.
    pub fn is_empty(&self) -> bool {
        self.compute.is_empty()
            && self.bandwidth.is_empty()
            && self.launch.is_none()
            && self.synchronise.is_none()
    }
}
