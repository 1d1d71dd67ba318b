//! Times every kernel alone, with cold caches, and compares it with this device's limits.
//!
//! A kernel's floor is the longer of two times: its bytes over the bandwidth, and its operations over the arithmetic
//! rate. Two plain kernels measure both rates here ([`MeasuredRates`]). Between two launches a copy of more memory than any
//! cache holds runs, so no launch finds its input in a cache.

#[cfg(feature = "gpu")]
mod ceilings;
#[cfg(feature = "gpu")]
mod run;

#[cfg(feature = "gpu")]
pub(crate) use {
    ceilings::{Flush, rates},
    run::run,
};

use tinyllama_kernel_catalog::Cost;

/// Bytes that a copy reads, and as many that it writes: more than any cache holds.
pub const COPIED_BYTES: usize = 256 << 20;

/// Measured rates, in f32.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRates {
    /// Bytes read and written per second by a copy.
    pub bytes_per_s: f64,
    /// Operations per second by multiply-adds outside matrix units.
    pub flops_per_s: f64,
}

/// The time of a kernel's pass.
#[derive(Clone, Debug)]
pub struct TimedPass {
    pub kernel: &'static str,
    pub pass: &'static str,
    pub cost: Cost,
    /// Median of the repeats, on the device's clock.
    pub seconds: f64,
}

impl TimedPass {
    /// Returns the least time that the ceilings allow, in seconds.
    pub fn floor(&self, ceilings: &MeasuredRates) -> f64 {
        let moving = self.cost.bytes() as f64 / ceilings.bytes_per_s;
        let computing = self.cost.flops as f64 / ceilings.flops_per_s;
        moving.max(computing)
    }
}
