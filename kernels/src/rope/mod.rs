//! [The rotary position embedding](tinyllama_kernel_catalog::rope) in CubeCL.

mod check;
mod kernels;
mod launch;
mod workload;

pub(crate) use launch::turn;
pub(crate) use workload::{CODE, NAME};
