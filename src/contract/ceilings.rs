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

    /// Why it is no ceiling; none where the repeats agree.
    fn doubt(&self) -> Option<String> {
        let spread = (self.p90 - self.p10) / self.median;
        if !(self.p10..=self.p90).contains(&self.median) {
            return Some("the value lies outside its own interval".into());
        }
        (spread.is_nan() || spread > MOST_SPREAD)
            .then(|| format!("repeats differ by {:.0} % of their median", 100.0 * spread))
    }
}

/// How far repeats may lie apart, from the slowest tenth to the fastest, as a share of their median.
const MOST_SPREAD: f64 = 0.3;

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
    /// What was measured too badly to be a ceiling, and why. [`flops_per_s`](Self::flops_per_s) and
    /// [`bytes_per_s`](Self::bytes_per_s) leave it out.
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

    /// FLOP/s that `dtype` was seen to reach, by the faster of vector and matrix units unless one is asked for.
    pub fn flops_per_s(&self, dtype: &str, unit: Option<Unit>) -> Option<f64> {
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
