//! Where a run computes, and how much its runtime tries out before it does.

use clap::ValueEnum;
use tinyllama_base::named;

named! {
    /// What computes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Backend {
        Rocm = "rocm",
        Cuda = "cuda",
        Vulkan = "vulkan",
        Cpu = "cpu",
    }
}

impl Backend {
    /// Whether the host only enqueues work and has to wait for its result.
    pub fn is_asynchronous(self) -> bool {
        self != Backend::Cpu
    }
}

/// What the user asked for.
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
    /// burn's pure Rust backend; always there
    Cpu,
}

impl BackendChoice {
    /// The backend that was named; `None` for auto.
    pub fn backend(self) -> Option<Backend> {
        Backend::of_name(self.to_possible_value()?.get_name())
    }
}

/// How much the runtime tries out before it settles on a kernel for an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Tuning {
    /// Every candidate, for each operation and size: minutes at the first start
    #[default]
    Full,
    /// Sizes taken together more coarsely, and the first kernel that is near the device's limits
    Minimal,
    /// Nothing of matrix products and library attention: the library's own rules name the kernel for a size
    Rules,
    /// Matrix products and library attention by the plainest kernel, in seconds and without rounding
    Off,
}

/// A run with this environment variable keeps no choice that it makes by timing: other runs use the device meanwhile.
pub const FORGET_TUNING: &str = "TINYLLAMA_FORGET_TUNING";
