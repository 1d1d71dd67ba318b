//! [Softmax, loss and gradient](tinyllama_kernel_catalog::cross_entropy), in CubeCL, on a CPU, and as an operation of burn.

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

pub use binding::{cross_entropy, cross_entropy_with_gradient};

#[cfg(feature = "gpu")]
pub(crate) use {
    launch::{mean, rows},
    workload::{CODE, CrossEntropyTypes},
};

/// The kernel's name in the catalogue.
#[cfg(feature = "gpu")]
pub(crate) const NAME: &str = tinyllama_kernel_catalog::cross_entropy::KERNEL.name;
