//! [The activation of SwiGLU](tinyllama_kernel_catalog::swiglu) in CubeCL and as an operation of burn.

mod binding;
#[cfg(feature = "gpu")]
mod check;
#[cfg(feature = "gpu")]
mod kernels;
#[cfg(feature = "gpu")]
mod launch;
#[cfg(feature = "gpu")]
mod workload;

pub(crate) use binding::activation_gradients;
pub use binding::{swiglu, swiglu_gradient};

#[cfg(feature = "gpu")]
pub(crate) use {
    launch::{backward, forward},
    workload::{CODE, NAME},
};
