//! [The mistake of stage 4](tinyllama_kernel_catalog::swiglu_naive), in CubeCL, on a CPU, and as an operation of burn.

mod binding;
#[cfg(feature = "gpu")]
mod check;
pub mod host;
#[cfg(feature = "gpu")]
mod kernels;
#[cfg(feature = "gpu")]
mod launch;
#[cfg(feature = "gpu")]
mod workload;

pub use binding::swiglu_naive;

#[cfg(feature = "gpu")]
pub(crate) use {launch::forward, workload::CODE};

/// The kernel's name in the catalogue.
#[cfg(feature = "gpu")]
pub(crate) const NAME: &str = tinyllama_kernel_catalog::swiglu_naive::KERNEL.name;
