//! [`RMSNorm`](tinyllama_kernel_catalog::rmsnorm), in CubeCL, on a CPU, and as an operation of burn.

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

pub use binding::{rms_norm, rms_norm_gradient, rms_norm_gradient_onto};

#[cfg(feature = "gpu")]
pub(crate) use {
    launch::{backward, choose_block, forward, workspace},
    workload::{CODE, RmsNormTypes},
};

/// The kernel's name in the catalogue.
#[cfg(feature = "gpu")]
pub(crate) const NAME: &str = tinyllama_kernel_catalog::rmsnorm::KERNEL.name;
