//! [The residual sum and its norm](tinyllama_kernel_catalog::add_rmsnorm) in CubeCL.

mod check;
mod kernels;
mod launch;
mod workload;

pub(crate) use workload::CODE;
