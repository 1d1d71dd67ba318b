//! What a device is: the figures a schedule chooses its block sizes from.

use std::fmt;

/// Whose driver it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// CUDA.
    Nvidia,
    /// HIP.
    Amd,
}

impl Vendor {
    /// `cuda` or `hip`.
    pub fn interface(self) -> &'static str {
        match self {
            Vendor::Nvidia => "cuda",
            Vendor::Amd => "hip",
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Vendor::Nvidia => "CUDA",
            Vendor::Amd => "HIP",
        })
    }
}

/// What the driver states about its device. Nothing here is measured or looked up in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    pub vendor: Vendor,
    pub name: String,
    /// `sm_90`, `gfx942`: as the run-time compiler wants it.
    pub arch: String,
    /// The driver's version, `13.0` or `7.1.52802`.
    pub driver: String,
    /// Threads that execute together: a warp (32) or a wavefront (64 on CDNA).
    pub plane_size: u32,
    /// Streaming multiprocessors or compute units.
    pub compute_units: u32,
    pub max_threads_per_block: u32,
    pub max_threads_per_unit: u32,
    /// 32-bit registers a block may have.
    pub registers_per_block: u32,
    /// Shared memory (LDS) a block gets without asking, in bytes.
    pub shared_per_block: usize,
    /// Shared memory a block can ask for, in bytes.
    pub shared_per_block_most: usize,
    /// Shared memory of a compute unit, in bytes; `None` where the driver does not say.
    pub shared_per_unit: Option<usize>,
    /// Last-level cache the driver reports, in bytes.
    pub l2_bytes: Option<usize>,
    /// Total device memory in bytes.
    pub memory: u64,
    /// Compute clock in kHz at its highest.
    pub clock_khz: Option<u32>,
    /// Whether a launch may synchronise its whole grid.
    pub cooperative: bool,
    /// Whether a kernel may start before the one in front of it has ended (see [`LaunchMode::Overlapping`]).
    ///
    /// [`LaunchMode::Overlapping`]: super::LaunchMode::Overlapping
    pub overlapping: bool,
}
