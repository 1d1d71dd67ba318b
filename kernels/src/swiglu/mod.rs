//! [The activation of SwiGLU](tinyllama_kernel_catalog::swiglu), in CubeCL, on a CPU, and as an operation of burn.

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

pub use binding::{swiglu, swiglu_gradient};

#[cfg(feature = "gpu")]
pub(crate) use {
    launch::{backward, backward_apart, forward},
    workload::CODE,
};

/// The kernel's name in the catalogue.
#[cfg(feature = "gpu")]
pub(crate) const NAME: &str = tinyllama_kernel_catalog::swiglu::KERNEL.name;
