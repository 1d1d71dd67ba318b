//! [The rotary position embedding](tinyllama_kernel_catalog::rope) in CubeCL and on a CPU.

#[cfg(feature = "gpu")]
mod check;
pub mod host;
#[cfg(feature = "gpu")]
mod kernels;
#[cfg(feature = "gpu")]
mod launch;
#[cfg(feature = "gpu")]
mod workload;

#[cfg(feature = "gpu")]
pub(crate) use {launch::turn, workload::CODE};

/// The kernel's name in the catalogue.
#[cfg(feature = "gpu")]
pub(crate) const NAME: &str = tinyllama_kernel_catalog::rope::KERNEL.name;
