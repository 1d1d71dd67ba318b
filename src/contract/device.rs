//! The device of a run, and how much its runtime tunes before training.

use clap::ValueEnum;
use tinyllama_base::named;

named! {
    /// The API that executes a run's kernels.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Backend {
        Rocm = "rocm",
        Cuda = "cuda",
        Vulkan = "vulkan",
        Cpu = "cpu",
    }
}

impl Backend {
    /// True if the host only enqueues work and has to wait for its result.
    pub fn is_asynchronous(self) -> bool {
        self != Backend::Cpu
    }
}

/// The user's choice of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendChoice {
    /// ROCm, then CUDA, then Vulkan on a real GPU, then the CPU
    Auto,
    /// AMD GPUs through HIP
    Rocm,
    /// NVIDIA GPUs through CUDA
    Cuda,
    /// Any GPU with a Vulkan driver
    Vulkan,
    /// burn's pure Rust backend; always available
    Cpu,
}

impl BackendChoice {
    /// The chosen backend; `None` for auto.
    pub fn backend(self) -> Option<Backend> {
        Backend::of_name(self.to_possible_value()?.get_name())
    }
}

/// How many kernels the runtime tries before it settles on one for an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Tuning {
    /// Try every candidate for each operation and size; this takes minutes at the first start
    #[default]
    Full,
    /// Group sizes more coarsely, and stop at the first kernel near the device's limits
    Minimal,
    /// Try nothing for matrix products and library attention; rules choose a kernel by size
    Rules,
    /// Use the plainest kernel for matrix products and library attention: starts in seconds and does not round
    /// operands
    Off,
}

/// With this environment variable, a run does not store any choice that it makes by timing. Use it if other runs
/// share the device.
pub const FORGET_TUNING: &str = "TINYLLAMA_FORGET_TUNING";
