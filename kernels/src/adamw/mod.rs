//! [The optimizer's step](tinyllama_kernel_catalog::adamw), in CubeCL, on a CPU, and over burn's tensors.

mod binding;
#[cfg(feature = "gpu")]
mod check;
pub mod host;
#[cfg(feature = "gpu")]
mod kernels;
#[cfg(feature = "gpu")]
mod launch;
#[cfg(feature = "gpu")]
mod plan;
#[cfg(feature = "gpu")]
mod workload;

pub use binding::AdamW;

#[cfg(feature = "gpu")]
pub(crate) use {
    launch::{AdamWParameter, AdamWTypes, FactorSource, choose_block, step},
    workload::CODE,
};

/// The kernel's name in the catalogue.
#[cfg(feature = "gpu")]
pub(crate) const NAME: &str = tinyllama_kernel_catalog::adamw::KERNEL.name;
