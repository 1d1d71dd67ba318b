//! The kernels as HIP C++, emitted for an AMD architecture and compiled without a GPU, and the limits they are held to.

pub mod budget;
pub mod candidates;
