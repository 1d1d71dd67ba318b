//! Peak rates of a device, measured one at a time: products, copies, launches, waiting. `calibrate` stores them.

use serde::{Deserialize, Serialize};
use tinyllama_base::{DeviceFacts, Series, Share, named, percent};

/// Everything measured on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceCeilings {
    pub facts: DeviceFacts,
    pub compute: Vec<ComputeCeiling>,
    pub bandwidth: Vec<BandwidthCeiling>,
    /// Time the host needs per launch of an empty kernel, with launches back to back.
    pub launch: Option<Latency>,
    /// Time from launching an empty kernel until the host knows that it has ended.
    pub synchronise: Option<Latency>,
    /// Measurements that were not possible, with reasons.
    pub notes: Vec<String>,
}

/// Statistics over the repeats of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
    pub repeats: usize,
}

impl Sampled {
    /// Returns `None` without repeats, or if one is not a finite number above zero.
    pub fn from_repeats(repeats: &[f64]) -> Option<Self> {
        let series = Series::new(repeats.to_vec()).ok()?;
        Some(Sampled {
            median: series.median(),
            p10: series.quantile(0.1),
            p90: series.quantile(0.9),
            repeats: repeats.len(),
        })
    }

    /// Returns why the value is not a ceiling; `None` if the repeats agree.
    fn doubt(&self) -> Option<String> {
        let spread = (self.p90 - self.p10) / self.median;
        if !(self.p10..=self.p90).contains(&self.median) {
            return Some("the value lies outside its own interval".into());
        }
        (spread.is_nan() || spread > MOST_SPREAD).then(|| {
            format!(
                "repeats differ by {} of their median",
                percent(Share(spread))
            )
        })
    }
}

/// Limit for the distance from the slowest to the fastest tenth of the repeats, as a share of their median.
const MOST_SPREAD: f64 = 0.3;

named! {
    /// The units that carry out arithmetic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ComputeUnit {
        /// Multiply-adds of single lanes.
        Vector = "vector",
        /// A large matrix product, on the fastest units of this device.
        Matrix = "matrix",
    }
}

/// A rate in FLOP/s. A multiply-add counts as two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComputeCeiling {
    /// `f32`, `tf32`, `bf16` or `f16`.
    pub dtype: String,
    pub unit: ComputeUnit,
    pub flops_per_s: Sampled,
    /// Description of the work and its size.
    pub how: String,
}

named! {
    /// The memory level that a copy reads from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Level {
        /// A working set far larger than every cache, so that memory delivers the bytes.
        Cold = "memory",
        /// A working set that stays in the last cache.
        Warm = "cache",
    }
}

/// Bytes read and written per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandwidthCeiling {
    pub level: Level,
    pub bytes_per_s: Sampled,
    /// Bytes that one repeat touches: source and target together.
    pub working_set: u64,
    pub how: String,
}

/// A duration in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub microseconds: Sampled,
    pub how: String,
}

impl DeviceCeilings {
    /// Explains which measurements are too noisy to be ceilings. [`flops_per_s`](Self::flops_per_s) and
    /// [`bytes_per_s`](Self::bytes_per_s) omit them.
    pub fn doubts(&self) -> Vec<String> {
        let compute = self.compute.iter().filter_map(|ceiling| {
            let doubt = ceiling.flops_per_s.doubt()?;
            Some(format!("{} {}: {doubt}", ceiling.dtype, ceiling.unit))
        });
        let bandwidth = self
            .bandwidth
            .iter()
            .filter_map(|ceiling| Some(format!("{}: {}", ceiling.level, self.doubt(ceiling)?)));
        compute.chain(bandwidth).collect()
    }

    fn doubt(&self, ceiling: &BandwidthCeiling) -> Option<String> {
        let rate = |ceiling: &BandwidthCeiling| ceiling.bytes_per_s.median;
        let is_slower = ceiling.level == Level::Warm
            && self
                .bandwidth
                .iter()
                .any(|other| other.level == Level::Cold && rate(other) > rate(ceiling));
        let doubt = ceiling.bytes_per_s.doubt();
        doubt.or_else(|| is_slower.then(|| "it is slower than memory".into()))
    }

    /// Measured FLOP/s for `dtype`. Without `unit` it takes the faster of vector and matrix units.
    pub fn flops_per_s(&self, dtype: &str, unit: Option<ComputeUnit>) -> Option<f64> {
        self.compute
            .iter()
            .filter(|ceiling| ceiling.dtype == dtype)
            .filter(|ceiling| unit.is_none_or(|unit| ceiling.unit == unit))
            .filter(|ceiling| ceiling.flops_per_s.doubt().is_none())
            .map(|ceiling| ceiling.flops_per_s.median)
            .max_by(f64::total_cmp)
    }

    pub fn bytes_per_s(&self, level: Level) -> Option<f64> {
        self.bandwidth
            .iter()
            .filter(|ceiling| ceiling.level == level && self.doubt(ceiling).is_none())
            .map(|ceiling| ceiling.bytes_per_s.median)
            .max_by(f64::total_cmp)
    }

    /// Microseconds per kernel launch.
    pub fn launch_us(&self) -> Option<f64> {
        self.launch
            .as_ref()
            .map(|latency| latency.microseconds.median)
    }

    /// Creates an empty set of measurements for a device.
    pub fn new(facts: DeviceFacts) -> Self {
        DeviceCeilings {
            facts,
            compute: vec![],
            bandwidth: vec![],
            launch: None,
            synchronise: None,
            notes: vec![],
        }
    }

    /// True if nothing could be measured.
    pub fn is_empty(&self) -> bool {
        self.compute.is_empty()
            && self.bandwidth.is_empty()
            && self.launch.is_none()
            && self.synchronise.is_none()
    }
}
