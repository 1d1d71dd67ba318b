//! Choices of a run that a flag names.

use tinyllama_base::named;

named! {
    /// The storage type of the operands of matrix products.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ElementType {
        F32 = "f32",
        Bf16 = "bf16",
        F16 = "f16",
    }
}

impl ElementType {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            ElementType::F32 => 4,
            ElementType::Bf16 | ElementType::F16 => 2,
        }
    }
}

named! {
    /// Work that a step waits for before it reads the clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
    pub enum Synchronize {
        /// Wait after forward, backward and update: three waits per step give the true time of each
        Phases = "phases",
        /// Wait after the whole step: true totals, no times for the parts
        Step = "step",
        /// Wait after the whole step: true totals; times of the parts come from the host's clock alone and do not add
        /// up to them
        HostParts = "host-parts",
        /// Never wait: the host's clock alone, which does not know when the device is done
        Never = "never",
    }
}

/// The precision of f32 products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MatmulPrecision {
    /// tf32 if the device's matrix library offers it, otherwise f32 (on most AMD GPUs); through burn, the choice of
    /// tuning
    Auto,
    /// Operands keep all their bits; through burn, its plainest product, which is slow
    F32,
    /// Operands are rounded to 11 bits for the matrix units; through burn, the same as auto
    Tf32,
}

/// The library for a run's matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Gemm {
    /// The target's library: the vendor's for v4 on CUDA or HIP; v4 on Vulkan and all other targets multiply through burn
    Auto,
    /// The vendor's library: cuBLASLt, hipBLASLt or rocBLAS; only v4 on CUDA or HIP
    Vendor,
    /// Through burn, whose library is called cubek, like the other targets, without a graph. There CUDA and Vulkan may take this
    /// project's own product
    Cubek,
}

/// An alternative form of a block, for comparison with the target's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BlockForm {
    /// The whole forward pass of a block in one launch
    Single,
}
